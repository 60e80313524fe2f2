import PhotoImaging
@_spi(ClassicPhotos) import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The pictures of a photo in a list, and what decoding the photo has found.
///
/// They are kept on the disk, so that a list that is shown again needs no decoding. A line of JSON
/// is followed by the bytes of the JPEG files. Only files have such an entry: what may be kept of a
/// download is for its server to say.
struct KeptListPictures: Sendable {
    let facts: PhotoFacts
    /// The picture without the list's filters.
    let downloaded: NamedPicture
    /// The picture with the list's filters; the same if there are none.
    let filtered: NamedPicture

    private struct Head: Codable {
        var color: UInt32
        var width: Int
        var height: Int
        var orientation: Int
        var byteCount: Int
        var pictures: [Picture]

        struct Picture: Codable {
            var byteCount: Int
            var width: Int
            var height: Int
        }
    }

    private static let newline = UInt8(ascii: "\n")

    init(facts: PhotoFacts, downloaded: NamedPicture, filtered: NamedPicture) {
        self.facts = facts
        self.downloaded = downloaded
        self.filtered = filtered
    }

    /// Reads an entry of the cache; nil if another version of the program has written it.
    init?(_ entry: [UInt8]) {
        guard let end = entry.firstIndex(of: Self.newline),
            let head = try? JSONDecoder().decode(Head.self, from: Data(entry[..<end])),
            head.width > 0, head.height > 0
        else { return nil }
        var rest = entry[(end + 1)...]
        var pictures: [NamedPicture] = []
        for picture in head.pictures {
            guard 0...rest.count ~= picture.byteCount, picture.width > 0, picture.height > 0 else {
                return nil
            }
            let size = PixelSize(width: picture.width, height: picture.height)
            pictures.append(
                NamedPicture(
                    EncodedImage(
                        bytes: Array(rest.prefix(picture.byteCount)), format: .jpeg, size: size)))
            rest = rest.dropFirst(picture.byteCount)
        }
        guard let downloaded = pictures.first, let filtered = pictures.last else { return nil }
        var facts = PhotoFacts()
        facts.size = PixelSize(width: head.width, height: head.height)
        facts.orientation = head.orientation
        facts.byteCount = head.byteCount
        facts.decodedColor = head.color
        self.facts = facts
        self.downloaded = downloaded
        self.filtered = filtered
    }

    /// The contents of an entry; nil for a photo that was not decoded.
    var entry: [UInt8]? {
        guard let size = facts.size, let color = facts.decodedColor, let byteCount = facts.byteCount
        else { return nil }
        let isOne = downloaded.name == filtered.name
        let pictures = isOne ? [downloaded.image] : [downloaded.image, filtered.image]
        let head = Head(
            color: color, width: size.width, height: size.height,
            orientation: facts.orientation, byteCount: byteCount,
            pictures: pictures.map { image in
                Head.Picture(
                    byteCount: image.bytes.count, width: image.size.width,
                    height: image.size.height)
            })
        guard let line = try? JSONEncoder().encode(head) else {
            preconditionFailure("texts and numbers can be encoded")
        }
        return pictures.reduce(Array(line) + [Self.newline]) { $0 + $1.bytes }
    }
}

extension PhotoLoader {
    /// The pictures of a list that need not be made: from memory, otherwise from the disk.
    ///
    /// - Parameters:
    ///   - facts: the facts of the photo, as far as they are known.
    ///   - cache: the cache of such pictures on the disk; nil for none.
    func keptListPictures(
        of request: PhotoRequest, _ version: PhotoVersion, _ processors: [PhotoProcessor],
        facts: PhotoFacts?, in cache: PhotoDiskCache?
    ) async -> KeptListPictures? {
        if let facts, facts.decodedColor != nil,
            let kept = picturesInMemory(of: request, version, processors, facts)
        {
            return kept
        }
        guard let cache, let address = Self.entryAddress(of: request, processors),
            let entry = await cache.kept(for: address, of: version),
            let kept = KeptListPictures(entry)
        else { return nil }
        remember(kept.downloaded, of: request, version, [])
        remember(kept.filtered, of: request, version, processors)
        return kept
    }

    /// Keeps the pictures of a list on the disk once both are made and in memory. Those of a
    /// damaged photo are made again, so that its page says what is wrong.
    ///
    /// Returns at once; a thread of the cache writes the file.
    func keepListPictures(
        of photo: Photo, for request: PhotoRequest, _ processors: [PhotoProcessor],
        in cache: PhotoDiskCache
    ) {
        let version = photo.version
        guard let facts = photo.facts, facts.damage == nil,
            let address = Self.entryAddress(of: request, processors),
            let bytes = picturesInMemory(of: request, version, processors, facts)?.entry
        else { return }
        cache.keep(bytes, for: address, of: version)
    }

    /// The pictures if all of them are in memory.
    private func picturesInMemory(
        of request: PhotoRequest, _ version: PhotoVersion, _ processors: [PhotoProcessor],
        _ facts: PhotoFacts
    ) -> KeptListPictures? {
        let pictures = listPictures(of: request, version, processors)
        guard let filtered = pictures.first, let downloaded = pictures.last,
            pictures.count == (processors.isEmpty ? 1 : 2)
        else { return nil }
        return KeptListPictures(facts: facts, downloaded: downloaded, filtered: filtered)
    }

    private func remember(
        _ picture: NamedPicture, of request: PhotoRequest, _ version: PhotoVersion,
        _ processors: [PhotoProcessor]
    ) {
        keep(picture, for: request.with(processors), version, quality: Self.listQuality)
    }

    /// The address that stands for the pictures in the cache: that of the file, and what was done.
    /// nil for a photo that is no file.
    private static func entryAddress(
        of request: PhotoRequest, _ processors: [PhotoProcessor]
    ) -> URL? {
        guard request.url.isFileURL else { return nil }
        let names = processors.map(\.name).joined(separator: ",")
        let size = request.size.map { "\($0.width)x\($0.height)" } ?? "full"
        let work = percentEncoded("list 1 \(size) \(listQuality) \(names)".utf8)
        return URL(string: "\(request.url.absoluteURL.absoluteString)#\(work)")
    }
}
