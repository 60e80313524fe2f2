import PhotoImaging
@_spi(ClassicPhotos) import PhotoPipeline

/// The names of a batch's results.
///
/// The names depend only on the list. A second run therefore gives each photo the same name,
/// whatever happened to other photos and in whatever order the photos are finished.
///
/// A photo keeps its name, and in a list made from a folder also its path below the folder. Its
/// extension follows the output format, which is certain only after the photo has been read. Photos
/// whose names differ only in extension or case are numbered -2, -3 and so on:
///
/// - The first photo of each extension keeps the plain name, provided that its extension is
///   correct.
/// - All other photos, and photos with a wrong extension, get a number that no other name in the
///   list has.
/// - Raw files come last: a camera writes a JPEG of the same name beside them.
struct OutputNames: Sendable {
    private enum Naming {
        /// The plain name if the photo is written in the format of its extension, otherwise the
        /// name with the number.
        case plain(as: ImageFormat, orNumber: Int)
        case numbered(Int)
    }

    private let folder: LocalPath
    /// The naming of photos that share a name with other photos, by position in the list.
    private let shared: [Int: Naming]

    /// Decides the names for the photos of a list.
    ///
    /// - Parameter format: the format of all results; nil if each photo keeps its own format.
    init(of records: [PhotoRecord], writtenAs format: ImageFormat?, in folder: LocalPath) {
        self.folder = folder
        var groups: [String: Group] = [:]
        for record in records where record.hasURL {
            groups[Stem(of: record).key, default: Group()].size += 1
        }
        var shared: [Int: Naming] = [:]
        var numbered: Set<String> = []
        let photos = records.indices.filter { records[$0].hasURL }
        let order =
            photos.filter { !records[$0].isRawFile } + photos.filter { records[$0].isRawFile }
        for position in order {
            let stem = Stem(of: records[position])
            guard var group = groups[stem.key], group.size > 1 else { continue }
            let isFirst = group.lastNumber == 0
            repeat {
                group.lastNumber += 1
            } while groups[stem.key(group.lastNumber)] != nil
                || !numbered.insert(stem.key(group.lastNumber)).inserted
            let expected = format ?? stem.expectedFormat
            if isFirst, expected == nil { group.isTaken = true }
            if let expected, !group.isTaken, group.formats.insert(expected).inserted {
                shared[position] = .plain(as: expected, orNumber: group.lastNumber)
            } else if !isFirst || expected != nil {
                shared[position] = .numbered(group.lastNumber)
            }
            groups[stem.key] = group
        }
        self.shared = shared
    }

    /// The photos that share a name.
    private struct Group {
        var size = 0
        var lastNumber = 0
        /// Whether a photo of unknown format has the plain name, with any extension.
        var isTaken = false
        /// The formats for which the plain name is taken.
        var formats: Set<ImageFormat> = []
    }

    /// The paths that a photo's result may have, the likeliest first: the format is certain only
    /// after the photo has been read.
    ///
    /// - Parameter format: the format of all results; nil if each photo keeps its own format.
    func possiblePaths(
        of record: PhotoRecord, at position: Int, writtenAs format: ImageFormat?
    ) -> [OutputPath] {
        let expected = format ?? Stem(of: record).expectedFormat
        let formats = format != nil ? [] : ImageFormat.written.filter { $0 != expected }
        return ([expected].compactMap(\.self) + formats).map {
            path(of: record, at: position, writtenAs: $0)
        }
    }

    /// The path of a photo's result.
    ///
    /// - Parameter position: the photo's index in the list.
    func path(of record: PhotoRecord, at position: Int, writtenAs format: ImageFormat) -> OutputPath
    {
        OutputPath(
            folder: folder, relativePath: name(of: record, at: position).bytes(writtenAs: format))
    }

    /// The name of the result of a photo that shares its name with no other, without its folder.
    static func fileName(of record: PhotoRecord, writtenAs format: ImageFormat) -> String {
        let path = Stem(of: record).name(number: nil, unnumbered: nil).bytes(writtenAs: format)
        return displayText(path.split(separator: UInt8(ascii: "/")).last ?? path[...])
    }

    /// The name of a photo's result in every format.
    ///
    /// - Parameter position: the photo's index in the list.
    func name(of record: PhotoRecord, at position: Int) -> ResultName {
        let stem = Stem(of: record)
        return switch shared[position] {
        case nil: stem.name(number: nil, unnumbered: nil)
        case .plain(let expected, let number): stem.name(number: number, unnumbered: expected)
        case .numbered(let number): stem.name(number: number, unnumbered: nil)
        }
    }
}

/// The name of one result in a folder, for all formats: the format is certain only after the photo
/// has been read.
struct ResultName: Sendable, Hashable {
    /// The path in the folder, without number and extension.
    let base: [UInt8]
    /// The number behind the base; nil if the base alone is unique.
    let number: Int?
    /// The format that has the name without the number.
    let unnumbered: ImageFormat?
    /// Whether the photo's name ends with `.tif`, as the names of most TIFF files do.
    var isTIF = false

    /// The path in the folder of a result of the given format.
    func bytes(writtenAs format: ImageFormat) -> [UInt8] {
        let suffix = number.map { format == unnumbered ? "" : "-\($0)" } ?? ""
        let fileExtension = isTIF && format == .tiff ? "tif" : format.fileExtension
        return base + "\(suffix).\(fileExtension)".utf8
    }

    /// Whether the path stays in the folder and names no hidden file.
    var isSafe: Bool {
        let parts = base.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return !base.contains(0) && base.count < 4096
            && parts.allSatisfy { !$0.isEmpty && $0.first != UInt8(ascii: ".") }
    }
}

/// A photo's name as a path, without the extension of a picture format.
private struct Stem {
    let bytes: [UInt8]
    /// A key that ignores case.
    let key: String
    /// The format of the photo according to its extension; nil if the name has no such extension.
    let expectedFormat: ImageFormat?
    private let isTIF: Bool

    init(of record: PhotoRecord) {
        var parts = Self.safeParts(of: record.nameBytes ?? Array(record.name.utf8))
        let last = parts.removeLast()
        if let fileExtension = PictureFiles.fileExtension(of: last),
            let format = ImageFormat(fileExtension: fileExtension)
        {
            parts.append(last.dropLast(fileExtension.utf8.count + 1))
            expectedFormat = format.canEncode ? format : .jpeg
            isTIF = fileExtension == "tif"
        } else {
            parts.append(last)
            (expectedFormat, isTIF) = (nil, false)
        }
        bytes = Array(parts.joined(separator: "/".utf8))
        key = displayText(bytes).lowercased()
    }

    func name(number: Int?, unnumbered: ImageFormat?) -> ResultName {
        ResultName(base: bytes, number: number, unnumbered: unnumbered, isTIF: isTIF)
    }

    func key(_ number: Int) -> String { "\(key)-\(number)" }

    /// Splits a name into safe path components: no component is hidden, unprintable, or leads out
    /// of the folder.
    private static func safeParts(of name: [UInt8]) -> [ArraySlice<UInt8>] {
        let parts = name.split(separator: UInt8(ascii: "/")).map { part in
            let dots = [UInt8(ascii: "."), UInt8(ascii: " ")]
            return printable(part).drop { dots.contains($0) }
        }
        let kept = parts.filter { !$0.isEmpty }
        return kept.isEmpty ? [Array("photo".utf8)[...]] : kept
    }

    private static func printable(_ part: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        // File systems allow 255 bytes; the rest is reserved for an extension and a number.
        let limit = 200
        guard let text = String(validating: part, as: UTF8.self) else {
            return part.map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: "_") : $0 }.prefix(limit)
        }
        var name = String(
            text.unicodeScalars.map { scalar in
                scalar.properties.generalCategory == .control ? "_" : Character(scalar)
            })
        while name.utf8.count > limit { name.removeLast() }
        return Array(name.utf8)[...]
    }
}
