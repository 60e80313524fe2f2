import ArgumentParser
@_spi(ClassicPhotos) import PhotoImaging

/// The filter options of both commands.
struct FilterOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "A filter, such as sepia=0.8 or tilt-shift=center:0.4,radius:12; default: none.",
            discussion: """
                This option can be repeated; the filters are applied in order. "none" stands for \
                no filter, also in the demo of serve, which has sepia=0.8 otherwise. "look=film.cube" applies the look in a .cube file, and \
                "look=intensity:0.5,film.cube" half of it. The filters: \
                \(FilterDefinition.all.map(\.helpLine).joined(separator: ", ")).
                """,
            valueName: "name=value"),
        completion: .list(FilterDefinition.all.map(\.name) + ["look=", "none"]))
    var filter: [String] = []

    func validate() throws {
        guard !filter.contains("none") || filter.count == 1 else {
            throw ValidationError("--filter none cannot be combined with other filters.")
        }
        for text in filter where text != "none" {
            do throws(ImagingError) {
                try FilterArgument.check(text)
            } catch {
                let namesSeveral = text.prefix { $0 != "=" }.contains(",")
                throw ValidationError(
                    "\(error)" + (namesSeveral ? " To apply several, repeat --filter." : ""))
            }
        }
    }

    /// The filters, in order; nil if none were given. Reads the files of looks.
    ///
    /// - Throws: ``Stop`` if the file of a look cannot be read.
    func filters() throws -> [ImageFilter]? {
        if filter.isEmpty { return nil }
        return try filter.filter { $0 != "none" }.map { try FilterArgument.filter($0) }
    }

    /// Whether a filter is a look from a file.
    var hasLook: Bool {
        filter.contains { (try? ImageFilter.lookFile(in: $0)) != nil }
    }
}
