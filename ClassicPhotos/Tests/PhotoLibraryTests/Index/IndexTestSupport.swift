import PhotoImaging
import PhotoTestSupport

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Segments for a JPEG, directly after its start marker.
func jpeg(_ plain: [UInt8], with segments: [[UInt8]]) -> [UInt8] {
    let inserted = segments.flatMap { body -> [UInt8] in
        let length = body.count + 2
        return [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)] + body
    }
    return Array(plain[..<2]) + inserted + Array(plain[2...])
}

func xmpSegment(_ packet: String) -> [UInt8] {
    Array("http://ns.adobe.com/xap/1.0/\0".utf8) + Array(packet.utf8)
}

/// A packet with a title, a rating and keywords.
func xmpPacket(title: String? = nil, rating: Int? = nil, keywords: [String] = []) -> String {
    let title = title.map { "<dc:title><rdf:Alt><rdf:li>\($0)</rdf:li></rdf:Alt></dc:title>" }
    let items = keywords.map { "<rdf:li>\($0)</rdf:li>" }.joined()
    let subject = keywords.isEmpty ? "" : "<dc:subject><rdf:Bag>\(items)</rdf:Bag></dc:subject>"
    let stars = rating.map { "<xmp:Rating>\($0)</xmp:Rating>" }
    return "<rdf:Description>\(title ?? "")\(subject)\(stars ?? "")</rdf:Description>"
}

/// An EXIF block with a camera, an orientation, a time with an offset, and a small picture.
func exifSegment(
    camera: String, orientation: Int, taken: String, offset: String, thumbnail: [UInt8]
) -> [UInt8] {
    func number(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    var data: [UInt8] = []
    // The directories have 3, 2 and 3 entries; what they point to follows.
    let start = 8 + (2 + 3 * 12 + 4) + (2 + 2 * 12 + 4) + (2 + 3 * 12 + 4)
    func entry(_ tag: Int, _ kind: Int, _ count: Int, _ value: Int) -> [UInt8] {
        number(tag, 2) + number(kind, 2) + number(count, 4) + number(value, 4)
    }
    func pointed(_ tag: Int, _ text: String) -> [UInt8] {
        let bytes = Array(text.utf8) + [0]
        defer { data += bytes + [UInt8](repeating: 0, count: bytes.count % 2) }
        return entry(tag, 2, bytes.count, start + data.count)
    }
    let second = 8 + (2 + 3 * 12 + 4)
    let third = second + (2 + 2 * 12 + 4)
    let first =
        number(3, 2) + pointed(0x10F, camera) + entry(0x112, 3, 1, orientation)
        + entry(0x8769, 4, 1, second) + number(third, 4)
    let times = number(2, 2) + pointed(0x9003, taken) + pointed(0x9011, offset) + number(0, 4)
    let small =
        number(3, 2) + entry(0x103, 3, 1, 6) + entry(0x201, 4, 1, start + data.count)
        + entry(0x202, 4, 1, thumbnail.count) + number(0, 4)
    return Array("Exif\0\0II*\0".utf8) + number(8, 4) + first + times + small + data + thumbnail
}

extension URL {
    /// Writes a file here that was changed long ago.
    func write(_ bytes: [UInt8], seconds: Int = 1_000_000_000) throws {
        try Data(bytes).write(to: self)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: Double(seconds))],
            ofItemAtPath: systemPath)
    }
}

/// A record of a file.
func indexRecord(
    inode: UInt64, seconds: Int = 1, title: String? = nil, day: UInt32 = 20_000,
    sidecars: UInt64 = 0
) -> PhotoIndexRecord {
    var facts = PhotoFacts()
    facts.byteCount = 7
    facts.title = title
    return PhotoIndexRecord(
        key: PhotoFileKey(
            place: .init(device: 1, inode: inode), byteCount: 7,
            modified: FileTime(seconds: seconds, nanoseconds: 5)),
        sidecars: sidecars, day: day, facts: facts)
}
