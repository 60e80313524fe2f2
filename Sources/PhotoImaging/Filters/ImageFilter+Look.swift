#if PhotoImaging
extension ImageFilter {
    /// The colors of a look from a `.cube` file.
    ///
    /// Colors between the entries of the table are interpolated in tetrahedra. A bitmap with 16
    /// bits per channel keeps its precision; alpha is kept.
    ///
    /// - Parameters:
    ///   - look: the look.
    ///   - intensity: the strength, from 0 (unchanged) to 1. Other values are clamped.
    public static func look(_ look: Look, intensity: Double = 1) -> ImageFilter {
        ImageFilter(look, intensity: FilterParameter.strength(default: 1).clamp(intensity))
    }

    /// The name of looks in text.
    static let lookName = "look"

    /// The file and the intensity of a look written as on a command line: `look=film.cube` or
    /// `look=intensity:0.5,film.cube`.
    ///
    /// This method is not part of ``init(_:)-(String)``, because a text from others must not make
    /// the program read a file.
    ///
    /// - Returns: nil if the text is that of another filter.
    /// - Throws: ``ImagingError/invalidArgument(_:)`` if the text names no file, or if the
    ///   intensity is out of range.
    @_spi(ClassicPhotos) public static func lookFile(
        in text: String
    ) throws(ImagingError) -> (path: String, intensity: Double)? {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0].lowercased().filter({ !$0.isWhitespace }) == lookName else { return nil }
        var path = parts.count == 2 ? parts[1] : ""
        var intensity = 1.0
        let prefix = "intensity:"
        if path.hasPrefix(prefix) {
            let end = path.firstIndex(of: ",") ?? path.endIndex
            let number = path[..<end].dropFirst(prefix.count)
            guard let value = Double(number), (0...1).contains(value) else {
                throw .invalidArgument("intensity of look must be 0 to 1, not \(number).")
            }
            intensity = value
            path = path[end...].dropFirst()
        }
        guard !path.isEmpty else {
            throw .invalidArgument("look needs a .cube file, as in look=film.cube.")
        }
        return (String(path), intensity)
    }
}
#endif
