#if PhotoImaging
/// The file name extensions and signatures of a format; the only table of its kind.
private struct FileTraits {
    /// File name extensions, in lower case and without the dot; the usual one first.
    let fileExtensions: [String]
    /// The signatures of the format; a file has to match at least one of them.
    let signatures: [FileSignature]

    init(_ fileExtensions: [String], _ signatures: [FileSignature]) {
        self.fileExtensions = fileExtensions
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
        case .avif: self = Self.avif
        case .raw: self = Self.raw
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
    /// The still-picture brands among the many files built like an ISO base media file.
    static let heif = FileTraits(
        ["heic", "heif", "hif"],
        ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"]
            .map { .init(ImageFormat.brandMark, at: 4, $0) })
    static let avif = FileTraits(
        ["avif"], ["avif", "avis"].map { .init(ImageFormat.brandMark, at: 4, $0) })
    /// Most of these files have the signature of TIFF. Their directories tell them from TIFF, as
    /// ``RawFile`` says.
    static let raw = FileTraits(
        ["dng", "nef", "nrw", "cr2", "arw", "sr2", "orf", "rw2", "rwl", "pef", "srw"], [])
}

/// The bytes at the start of files of one kind: one group, or two groups at different offsets.
private struct FileSignature {
    private let parts: [(offset: Int, bytes: [UInt8])]

    init(_ bytes: [UInt8]) { parts = [(0, bytes)] }
    init(_ text: String) { self.init(Array(text.utf8)) }

    /// `text` at the start, and `other` at an offset.
    init(_ text: String, _ other: String, at offset: Int) {
        parts = [(0, Array(text.utf8)), (offset, Array(other.utf8))]
    }

    /// `text` at an offset, directly followed by `other`.
    init(_ text: String, at offset: Int, _ other: String) {
        parts = [(offset, Array((text + other).utf8))]
    }

    func matches(_ start: [UInt8]) -> Bool {
        parts.allSatisfy { start.dropFirst($0.offset).starts(with: $0.bytes) }
    }
}

extension ImageFormat {
    /// The mark before the brand in files built like an ISO base media file.
    fileprivate static let brandMark = "ftyp"

    /// The number of bytes at the start of a file that identify its format.
    public static let signatureLength = 12

    /// Detects the format from the first ``signatureLength`` bytes; nil if this module does not
    /// read the format.
    ///
    /// Neither a file's name nor a server's `Content-Type` is reliable, so only the bytes count. A
    /// match does not mean that the rest of the file is intact. Most raw files begin as TIFF files
    /// do, and are taken for them; ``ImageEngine/inspect(_:limits:)`` tells them apart.
    public init?(detecting bytes: some Sequence<UInt8>) {
        let start = Array(bytes.prefix(Self.signatureLength))
        if RawFile.begins(start) {
            self = .raw
            return
        }
        let match = Self.allCases.first { format in
            FileTraits(format).signatures.contains { $0.matches(start) }
        }
        guard let match else { return nil }
        self = match
    }

    /// Detects the format from the contents of a whole file, also that of raw files; nil if this
    /// module does not read the format.
    public init?(contents bytes: [UInt8]) {
        self.init(detecting: bytes)
        if self == .tiff, RawFile(bytes) != nil { self = .raw }
    }

    /// The main brand of a file built like an ISO base media file (HEIF, AVIF, MP4, …).
    static func brand(of start: [UInt8]) -> String? {
        guard start.count >= signatureLength, start[4..<8].elementsEqual(brandMark.utf8) else {
            return nil
        }
        return String(decoding: start[8..<12], as: UTF8.self)
    }

    /// The usual file name extension, without the dot.
    public var fileExtension: String { fileExtensions[0] }

    /// All file name extensions of this format, in lower case and without the dot; the usual one
    /// first.
    public var fileExtensions: [String] { FileTraits(self).fileExtensions }

    /// The format that a file name extension stands for, or nil if this module does not read such
    /// files.
    ///
    /// The extension is not case-sensitive. The bytes of a file decide its real format:
    /// ``init(detecting:)``.
    public init?(fileExtension: some StringProtocol) {
        let lowercased = fileExtension.lowercased()
        let match = Self.allCases.first { $0.fileExtensions.contains(lowercased) }
        guard let match else { return nil }
        self = match
    }
}
#endif
