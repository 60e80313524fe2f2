import ArgumentParser
import Imaging

/// The filter options of both commands.
struct FilterOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "A filter, such as sepia=0.8 or tilt-shift=center:0.4,radius:12; default: sepia=0.8.",
            discussion: """
                This option can be repeated; the filters are applied in order. "none" stands for \
                no filter. The filters: \
                \(FilterDefinition.all.map(\.helpLine).joined(separator: ", ")).
                """,
            valueName: "name=value"),
        completion: .list(FilterDefinition.all.map(\.name) + ["none"]))
    var filter: [String] = []

    func validate() throws { _ = try filters() }

    /// The filters, in order; nil if none were given.
    func filters() throws -> [ImageFilter]? {
        if filter.isEmpty { return nil }
        if filter.contains("none") {
            guard filter.count == 1 else {
                throw ValidationError("--filter none cannot be combined with other filters.")
            }
            return []
        }
        return try filter.map { text in
            do throws(ImagingError) {
                return try ImageFilter(text)
            } catch {
                throw ValidationError("\(error)")
            }
        }
    }

    /// The filters if a person chooses none.
    static let defaults: [ImageFilter] = [.sepia(intensity: 0.8)]
}
