import Imaging

/// Which files are taken for pictures when nobody said so. The table is ``ImageFormat``'s.
enum PictureFiles {
    /// The extensions of the formats that can be decoded, in lower case.
    static let extensions = ImageFormat.allCases.flatMap(\.fileExtensions)

    /// Whether a file's name says that it is a picture. What it is, its bytes decide, later.
    static func isPicture(named name: String) -> Bool { isPicture(named: name.utf8) }

    static func isPicture(named name: some BidirectionalCollection<UInt8>) -> Bool {
        ending(of: name).flatMap { ImageFormat(fileExtension: $0) } != nil
    }

    /// What follows the last dot of a name, in lower case; nil for a name without, and for one that
    /// begins with its only dot.
    static func ending(of name: some BidirectionalCollection<UInt8>) -> String? {
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else {
            return nil
        }
        return String(validating: name[name.index(after: dot)...], as: UTF8.self)?.lowercased()
    }

    /// Whether bytes begin as one of those formats does.
    static func isPicture(_ bytes: some Collection<UInt8>) -> Bool {
        ImageFormat(detecting: bytes) != nil
    }
}
