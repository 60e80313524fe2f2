import ArgumentParser
import Imaging

/// The filter options of both commands.
struct FilterOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "A filter, with its strength: sepia=0.8. May be given more than once.",
            discussion: """
                One of \(FilterDefinition.all.map(\.name).joined(separator: ", ")); or none.
                """,
            valueName: "name=value"))
    var filter: [String] = ["sepia=0.8"]

    /// The filters, in order; a lone `none` means no filter.
    func filters() throws -> [ImageFilter] {
        if filter == ["none"] { return [] }
        return try filter.map { text in
            do throws(ImagingError) {
                return try ImageFilter(text)
            } catch {
                throw ValidationError("\(error)")
            }
        }
    }
}
