/// What is known of the files of a format. This is the only table of it.
private struct FileTraits {
    /// Endings of names, in lower case and without the dot; the usual one first.
    let endings: [String]
    /// How files begin. One of them has to match.
    let signatures: [FileSignature]

    init(_ endings: [String], _ signatures: [FileSignature]) {
        self.endings = endings
        self.signatures = signatures
    }

    init(_ format: ImageFormat) {
        switch format {
        case .jpeg: self = Self.jpeg
        case .png: self = Self.png
        case .webp: self = Self.webp
        case .gif: self = Self.gif
        case .tiff: self = Self.tiff
        case .heif: self = Self.heif
        }
    }

    static let jpeg = FileTraits(["jpg", "jpeg", "jpe", "jfif"], [.init([0xFF, 0xD8, 0xFF])])
    static let png = FileTraits(
        ["png"], [.init([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])])
    static let webp = FileTraits(["webp"], [.init("RIFF", "WEBP", at: 8)])
    static let gif = FileTraits(["gif"], [.init("GIF87a"), .init("GIF89a")])
    /// Little- and big-endian TIFF and BigTIFF.
    static let tiff = FileTraits(
        ["tiff", "tif"],
        [
            .init([0x49, 0x49, 0x2A, 0x00]), .init([0x4D, 0x4D, 0x00, 0x2A]),
            .init([0x49, 0x49, 0x2B, 0x00]), .init([0x4D, 0x4D, 0x00, 0x2B]),
        ])
    /// Of the many files that are built like an ISO base media file, those whose main brand stands
    /// for still pictures.
    static let heif = FileTraits(
        ["heif", "heic", "avif"],
        ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1", "avif", "avis"]
            .map { .init(ImageFormat.brandMark, at: 4, $0) })
}

/// The bytes that files of one kind begin with: one group, or two at different places.
private struct FileSignature {
    private let parts: [(offset: Int, bytes: [UInt8])]

    init(_ bytes: [UInt8]) { parts = [(0, bytes)] }
    init(_ text: String) { self.init(Array(text.utf8)) }

    /// `text` at the beginning, and `other` at an offset.
    init(_ text: String, _ other: String, at offset: Int) {
        parts = [(0, Array(text.utf8)), (offset, Array(other.utf8))]
    }

    /// `text` at an offset, and `other` right behind it.
    init(_ text: String, at offset: Int, _ other: String) {
        parts = [(offset, Array((text + other).utf8))]
    }

    func matches(_ start: [UInt8]) -> Bool {
        parts.allSatisfy { start.dropFirst($0.offset).starts(with: $0.bytes) }
    }
}

extension ImageFormat {
    /// What stands before the brand in files that are built like an ISO base media file.
    fileprivate static let brandMark = "ftyp"

    /// How many bytes at the beginning of a file tell its format.
    public static let signatureLength = 12

    /// The format that `bytes` begin with, or nil when it is none of ours.
    ///
    /// Only the first ``signatureLength`` bytes count: neither a file's name nor a server's
    /// `Content-Type` says what a file is. A match is no promise that the rest is sound.
    public init?(detecting bytes: some Sequence<UInt8>) {
        let start = Array(bytes.prefix(Self.signatureLength))
        let match = Self.allCases.first { format in
            FileTraits(format).signatures.contains { $0.matches(start) }
        }
        guard let match else { return nil }
        self = match
    }

    /// The main brand of a file that is built like an ISO base media file (HEIF, AVIF, MP4, …).
    static func brand(of start: [UInt8]) -> String? {
        guard start.count >= signatureLength, start[4..<8].elementsEqual(brandMark.utf8) else {
            return nil
        }
        return String(decoding: start[8..<12], as: UTF8.self)
    }

    /// The usual ending of a file name, without the dot.
    public var fileExtension: String { fileExtensions[0] }

    /// All endings of file names that stand for this format, in lower case and without the dot; the
    /// usual one first.
    public var fileExtensions: [String] { FileTraits(self).endings }

    /// The format that a file's name promises, or nil when its ending is none of ours.
    ///
    /// Upper and lower case do not matter. What a file really is, its bytes decide:
    /// ``init(detecting:)``.
    public init?(fileExtension: some StringProtocol) {
        let ending = fileExtension.lowercased()
        let match = Self.allCases.first { $0.fileExtensions.contains(ending) }
        guard let match else { return nil }
        self = match
    }
}
