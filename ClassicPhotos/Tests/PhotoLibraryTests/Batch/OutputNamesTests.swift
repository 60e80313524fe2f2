import OperationsTestSupport
import PhotoImaging
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite struct OutputNamesTests {
    private let url = URL(filePath: "/photos/x")

    private func records(_ names: [String]) -> [PhotoRecord] {
        names.enumerated().map { position, name in
            PhotoRecord(id: PhotoID(rawValue: UInt64(position)), name: name, url: url)
        }
    }

    /// The names of results, if each photo is written in its given format.
    private func names(
        of records: [PhotoRecord], as formats: [ImageFormat], option: ImageFormat? = nil
    ) throws -> [String] {
        let folder = try #require(LocalPath("out"))
        let names = OutputNames(of: records, writtenAs: option, in: folder)
        return records.indices.map { position in
            let format = option ?? formats[position % formats.count]
            return names.path(of: records[position], at: position, writtenAs: format)
                .description.replacing("out/", with: "", maxReplacements: 1)
        }
    }

    @Test func nameIsKeptWithExtensionOfFormat() throws {
        #expect(
            try names(
                of: records(["a.jpg", "b/c.JPEG", "d", "e.txt"]), as: [.jpeg, .jpeg, .png, .gif])
                == ["a.jpg", "b/c.jpg", "d.png", "e.txt.gif"])
        #expect(try names(of: records(["a.jpg", "b.jfif"]), as: [.png]) == ["a.png", "b.png"])
    }

    @Test func shortExtensionOfTIFFStays() throws {
        let scans = records(["a.tif", "b.tiff", "c.TIF", "a.jpg", "b.tif"])
        #expect(
            try names(of: scans, as: [.tiff, .tiff, .tiff, .jpeg, .tiff])
                == ["a.tif", "b.tiff", "c.tif", "a.jpg", "b-2.tif"])
        #expect(try names(of: scans, as: [.png], option: .png)[0] == "a.png")
        #expect(OutputNames.fileName(of: scans[0], writtenAs: .tiff) == "a.tif")
    }

    /// A camera writes a JPEG of the same name beside a raw file.
    @Test func rawFilesComeAfterTheirJPEGs() throws {
        let photos = records(["a.ARW", "a.JPG", "b.NEF", "c.dng", "c.nef"])
        #expect(
            try names(of: photos, as: [.jpeg])
                == ["a-2.jpg", "a.jpg", "b.jpg", "c.jpg", "c-2.jpg"])
    }

    @Test func equalNamesAreNumberedInListOrder() throws {
        let equal = records(["Sea", "sea", "Sea.jpg", "../../Sea"])
        #expect(
            try names(of: equal, as: [.jpeg]) == ["Sea.jpg", "sea-2.jpg", "Sea-3.jpg", "Sea-4.jpg"])
        let pairs = records(["a.jpg", "a.png", "a.jpg"])
        #expect(try names(of: pairs, as: [.jpeg, .png, .jpeg]) == ["a.jpg", "a.png", "a-3.jpg"])
        #expect(
            try names(of: pairs, as: [.jpeg], option: .webp) == ["a.webp", "a-2.webp", "a-3.webp"])
    }

    @Test func numberedNamesAreUnique() throws {
        let photos = records(["a.jpg", "a.jpg", "a-2.jpg", "A-3.png", "a.jpg"])
        #expect(
            try names(of: photos, as: [.jpeg, .jpeg, .jpeg, .png, .jpeg])
                == ["a.jpg", "a-4.jpg", "a-2.jpg", "A-3.png", "a-5.jpg"])
    }

    @Test func nameIsIndependentOfOtherPhotosFormats() throws {
        // Each photo's name is unique, whatever the formats of all photos are.
        let photos = records(["a.jpg", "A.png", "a", "a.heic", "a.jpg", "a-2.jpg", "b/a.gif"])
        let formats: [ImageFormat] = [.jpeg, .png, .webp, .gif, .tiff]
        let folder = try #require(LocalPath("out"))
        let names = OutputNames(of: photos, writtenAs: nil, in: folder)
        var all: [String: Int] = [:]
        for (position, photo) in photos.enumerated() {
            for format in formats {
                let path = names.path(of: photo, at: position, writtenAs: format)
                let other = all.updateValue(position, forKey: path.description.lowercased())
                #expect(other == nil, "\(path) is the name of photo \(other ?? -1) too")
            }
        }
    }

    @Test func nonUTF8BytesAreKept() throws {
        let bytes = Array("caf\u{1}/ol".utf8) + [0xE9] + Array(".JPG".utf8)
        let record = PhotoRecord(
            id: PhotoID(rawValue: 1), name: "shown", nameBytes: bytes, url: url)
        let folder = try #require(LocalPath("out"))
        let names = OutputNames(of: [record], writtenAs: nil, in: folder)
        let path = names.path(of: record, at: 0, writtenAs: .jpeg)
        #expect(path.relativePath == Array("caf_/ol".utf8) + [0xE9] + Array(".jpg".utf8))
        #expect(path.description == #"out/caf_/ol\xE9.jpg"#)
    }
}
