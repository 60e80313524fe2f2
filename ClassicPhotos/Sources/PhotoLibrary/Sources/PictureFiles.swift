import PhotoImaging

/// Decides which files count as pictures, based on ``ImageFormat``'s table.
enum PictureFiles {
    /// The extensions of the formats that can be decoded, in lower case.
    static let extensions = ImageFormat.allCases.flatMap(\.fileExtensions)

    /// Whether a file's name has the extension of a picture; the bytes decide later.
    static func isPicture(named name: String) -> Bool { isPicture(named: name.utf8) }

    static func isPicture(named name: some BidirectionalCollection<UInt8>) -> Bool {
        fileExtension(of: name).flatMap { ImageFormat(fileExtension: $0) } != nil
    }

    /// Whether a file's name has the extension of XMP beside a photo, which the index reads.
    static func isSidecar(named name: some BidirectionalCollection<UInt8>) -> Bool {
        fileExtension(of: name) == "xmp"
    }

    /// The extension of a name in lower case; nil for a name without a dot, or with only a leading
    /// dot.
    static func fileExtension(of name: some BidirectionalCollection<UInt8>) -> String? {
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else {
            return nil
        }
        return String(validating: name[name.index(after: dot)...], as: UTF8.self)?.lowercased()
    }

    /// Whether bytes start with the signature of a format that can be decoded.
    static func isPicture(_ bytes: some Collection<UInt8>) -> Bool {
        ImageFormat(detecting: bytes) != nil
    }
}
