/// Raw files in the forms of several makers, around a JPEG; the raw data is a few bytes.
public enum RawFileForm: String, CaseIterable, Sendable {
    case nef, cr2, dng, arw, orf, rw2

    /// The maker of the camera.
    public static let maker = "Maker"
    /// The model of the camera.
    public static let model = "Model 5"
    /// The model of the lens.
    public static let lens = "50 mm f/1.8"
    /// The time of the exposure.
    public static let taken = "2021:03:04 05:06:07"
    /// The notes of the maker.
    public static let note = "Notes of the maker"
    /// The width of the raw data.
    public static let rawWidth = 640
    /// The height of the raw data.
    public static let rawHeight = 400

    /// A file around a JPEG.
    ///
    /// - Parameters:
    ///   - jpeg: the JPEG that shows the photo.
    ///   - orientation: the orientation of the file.
    ///   - small: a second, smaller JPEG, where the form has one.
    ///   - additions: entries of the first directory, in place of others with the same tags.
    public func bytes(
        around jpeg: [UInt8], orientation: Int = 1, small: [UInt8] = [],
        adding additions: TIFFWriter.Directory = []
    ) -> [UInt8] {
        var (head, chain) = parts(jpeg, small, orientation)
        let tags = Set(additions.map(\.tag))
        chain[0] = chain[0].filter { !tags.contains($0.tag) } + additions
        return TIFFWriter.file(head: head, isLittle: self != .nef, chain)
    }

    private func parts(
        _ jpeg: [UInt8], _ small: [UInt8], _ orientation: Int
    ) -> (head: [UInt8], chain: [TIFFWriter.Directory]) {
        let camera: TIFFWriter.Directory = [
            (0x10F, .text(Self.maker)), (0x110, .text(Self.model)), (0x112, .short(orientation)),
        ]
        let first = camera + [(0x8769, .directories([exif])), (0x8825, .directories([Self.gps]))]
        let little: [UInt8] = [0x49, 0x49, 0x2A, 0, 0, 0, 0, 0]
        switch self {
        case .nef:
            let parts = TIFFWriter.Value.directories([Self.pair(jpeg, 6), Self.raw(34_713)])
            return (
                [0x4D, 0x4D, 0, 0x2A, 0, 0, 0, 0], [first + Self.preview + [(0x14A, parts)]]
            )
        case .cr2:
            return (
                little + Array("CR".utf8) + [2, 0, 0, 0, 0, 0],
                [first + Self.strip(jpeg, 6), Self.pair(small, 6), Self.raw(6)]
            )
        case .dng:
            let parts = TIFFWriter.Value.directories([Self.raw(7), Self.strip(jpeg, 7)])
            let own: TIFFWriter.Directory = [(0xC612, .bytes([1, 4, 0, 0])), (0x14A, parts)]
            return (little, [first + Self.preview + own])
        case .arw:
            return (
                little,
                [
                    first + Self.pair(jpeg, 6) + [(0x14A, .directories([Self.raw(32_767)]))],
                    Self.pair(small, 6),
                ]
            )
        case .orf:
            let notes: TIFFWriter.Directory = [(0x927C, .bytes(Self.olympusNotes(jpeg)))]
            let exif = exif.filter { $0.tag != 0x927C } + notes
            let gps = TIFFWriter.Value.directories([Self.gps])
            return (
                Array("IIRS".utf8) + [0, 0, 0, 0],
                [camera + Self.raw(1) + [(0x8769, .directories([exif])), (0x8825, gps)]]
            )
        case .rw2:
            let size: TIFFWriter.Directory = [
                (2, .short(Self.rawWidth)), (3, .short(Self.rawHeight)),
            ]
            // The other fields are in the JPEG.
            let whole = Self.inserting([camera + [(0x8769, .directories([exif]))]], into: jpeg)
            return (
                Array("IIU\0".utf8) + [0, 0, 0, 0],
                [camera + size + [(0x2E, .bytes(whole)), (0x8825, .directories([Self.gps]))]]
            )
        }
    }

    // MARK: Directories

    private var exif: TIFFWriter.Directory {
        [
            (0x9003, .text(Self.taken)), (0xA434, .text(Self.lens)),
            (0x829D, .fractions([(18, 10)])), (0x927C, .bytes(Array(Self.note.utf8))),
            (0xA002, .long(Self.rawWidth)), (0xA003, .long(Self.rawHeight)),
        ]
    }

    private static let gps: TIFFWriter.Directory = [
        (1, .text("N")), (2, .fractions([(52, 1), (30, 1), (0, 1)])),
        (3, .text("W")), (4, .fractions([(13, 1), (15, 1), (0, 1)])),
    ]

    /// A small preview without compression, as the first picture of NEF and DNG is.
    private static let preview: TIFFWriter.Directory = [
        (0xFE, .long(1)), (0x100, .long(16)), (0x101, .long(12)), (0x103, .short(1)),
        (0x106, .short(2)), (0x111, .block([UInt8](repeating: 9, count: 16 * 12 * 3))),
        (0x115, .short(3)), (0x117, .long(16 * 12 * 3)),
    ]

    /// Raw data in a color filter array. As compressed data it is the start of a lossless JPEG.
    public static func raw(_ compression: Int) -> TIFFWriter.Directory {
        let lossless: [UInt8] =
            [0xFF, 0xD8, 0xFF, 0xC3, 0, 11, 14, 1, 0x90, 2, 0x80, 1, 1, 0x11, 0]
            + [0xFF, 0xDA, 0, 8, 1, 1, 0, 1, 0, 0, 0xFF, 0xD9]
        return [
            (0x100, .long(rawWidth)), (0x101, .long(rawHeight)),
            (0x103, .short(compression)), (0x106, .short(32_803)), (0x111, .block(lossless)),
            (0x117, .long(lossless.count)),
        ]
    }

    /// A JPEG that is named by its place and its length.
    public static func pair(_ jpeg: [UInt8], _ compression: Int) -> TIFFWriter.Directory {
        [(0x103, .short(compression)), (0x201, .block(jpeg)), (0x202, .long(jpeg.count))]
    }

    /// A JPEG as the only strip of a picture.
    public static func strip(_ jpeg: [UInt8], _ compression: Int) -> TIFFWriter.Directory {
        [(0x103, .short(compression)), (0x111, .block(jpeg)), (0x117, .long(jpeg.count))]
    }

    /// The notes of Olympus' cameras, whose offsets count from the start of the notes.
    private static func olympusNotes(_ jpeg: [UInt8]) -> [UInt8] {
        var writer = TIFFWriter(after: Array("OLYMPUS\0II".utf8) + [3, 0], isLittle: true)
        let settings: TIFFWriter.Directory = [
            (0x100, .long(1)), (0x101, .block(jpeg)), (0x102, .long(jpeg.count)),
        ]
        writer.append([(0x2020, .directories([settings]))])
        return writer.bytes
    }

    /// A JPEG with an EXIF block of the given directories.
    public static func inserting(
        _ chain: [TIFFWriter.Directory], into jpeg: [UInt8]
    ) -> [UInt8] {
        let block =
            Array("Exif\0\0".utf8)
            + TIFFWriter.file(
                head: [0x4D, 0x4D, 0, 0x2A, 0, 0, 0, 0], isLittle: false, chain)
        let length = block.count + 2
        return [0xFF, 0xD8, 0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)] + block
            + jpeg.dropFirst(2)
    }
}
