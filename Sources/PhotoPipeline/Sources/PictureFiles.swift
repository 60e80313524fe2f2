import Imaging

/// Which files are taken for pictures when nobody said so.
enum PictureFiles {
    /// The extensions of the formats that can be decoded, in lower case.
    static let extensions = [
        "jpg", "jpeg", "jpe", "jfif", "png", "webp", "gif", "tif", "tiff", "heic", "heif", "avif",
    ]

    /// How many bytes of a file tell whether it is a picture.
    static let signatureLength = 12

    /// Whether a file's name says that it is a picture. What it is, its bytes decide, later.
    static func isPicture(named name: String) -> Bool { isPicture(named: name.utf8) }

    static func isPicture(named name: some BidirectionalCollection<UInt8>) -> Bool {
        ending(of: name).map(extensions.contains) ?? false
    }

    /// What follows the last dot of a name, in lower case; nil for a name without, and for one that
    /// begins with its only dot.
    static func ending(of name: some BidirectionalCollection<UInt8>) -> String? {
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else {
            return nil
        }
        return String(validating: name[name.index(after: dot)...], as: UTF8.self)?.lowercased()
    }

    /// The format that a name's ending stands for.
    static func format(ofEnding ending: String) -> ImageFormat? {
        switch ending {
        case "jpg", "jpeg", "jpe", "jfif": .jpeg
        case "png": .png
        case "webp": .webp
        case "gif": .gif
        case "tif", "tiff": .tiff
        case "heic", "heif", "avif": .heif
        default: nil
        }
    }

    /// Whether bytes begin as one of those formats does.
    ///
    /// The signatures are those of each format's specification; of the many ISO media files only
    /// the brands that hold still pictures count.
    static func isPicture(_ bytes: some Collection<UInt8>) -> Bool {
        let head = Array(bytes.prefix(signatureLength))
        let signatures: [[UInt8]] = [
            [0xFF, 0xD8, 0xFF],
            [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A],
            Array("GIF87a".utf8), Array("GIF89a".utf8),
            [0x49, 0x49, 0x2A, 0x00], [0x4D, 0x4D, 0x00, 0x2A],
        ]
        if signatures.contains(where: head.starts(with:)) { return true }
        guard head.count == signatureLength else { return false }
        let brands = ["heic", "heix", "heim", "heis", "mif1", "avif", "avis"]
        let isISO = head[4..<8].elementsEqual("ftyp".utf8)
        let isRIFF = head.starts(with: "RIFF".utf8)
        return isISO && brands.contains { head[8...].elementsEqual($0.utf8) }
            || isRIFF && head[8...].elementsEqual("WEBP".utf8)
    }
}
