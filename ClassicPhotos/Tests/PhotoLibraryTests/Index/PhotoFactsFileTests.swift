import OperationsTestSupport
import PhotoImaging
import PhotoTestSupport
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.ownThreads) struct PhotoFactsFileTests {
    private func facts(of bytes: [UInt8], limits: ImageLimits = .ownFiles) async throws
        -> PhotoFacts?
    {
        try await withTemporaryFolder { folder in
            let url = folder.appending(path: "a.jpg")
            try url.write(bytes)
            return PhotoFacts.read(try #require(LocalFile(url)), within: limits)
        }
    }

    @Test func headerOfPhotoIsRead() async throws {
        let small = try jpeg(width: 160, height: 120, gray: 200)
        let file = try jpeg(
            jpeg(width: 64, height: 48),
            with: [
                exifSegment(
                    camera: "Camera", orientation: 8, taken: "2015:04:14 18:21:09",
                    offset: "+02:00", thumbnail: small),
                xmpSegment(xmpPacket(title: "A title", rating: 5, keywords: ["one", "two"])),
            ])
        let facts = try #require(try await facts(of: file))
        #expect(facts.size == PixelSize(width: 48, height: 64) && facts.orientation == 8)
        #expect(facts.taken == PhotoTime(seconds: 1_429_035_669, offset: 120))
        #expect(facts.camera == "Camera" && facts.title == "A title" && facts.rating == 5)
        #expect(facts.keywords == ["one", "two"] && facts.byteCount == file.count)
        let color = try #require(facts.color)
        #expect(abs(Int(color & 255) - 200) <= 5 && facts.decodedColor == nil)
    }

    /// The bytes behind the first 64 KiB of a JPEG are not needed.
    @Test func onlyTheBeginningOfLargePhotoIsRead() async throws {
        let segment = xmpSegment(xmpPacket(title: "A title"))
        let file = try jpeg(jpeg(width: 640, height: 480), with: [segment])
        let padded = file + [UInt8](repeating: 0, count: 100_000)
        let facts = try #require(try await facts(of: padded))
        #expect(facts.size?.width == 640 && facts.title == "A title")
        #expect(facts.byteCount == padded.count)
    }

    /// A block of 64 KiB before the header makes it necessary to read on.
    @Test func fieldsBehindTheBeginningAreFound() async throws {
        let padding = Array("x".utf8) + [UInt8](repeating: 0, count: 65_000)
        let file = try jpeg(
            jpeg(width: 64, height: 48),
            with: [padding, padding, xmpSegment(xmpPacket(title: "A title"))])
        let facts = try #require(try await facts(of: file))
        #expect(facts.size?.width == 64 && facts.title == "A title")
    }

    @Test func otherFormatsAreRead() async throws {
        for format in [ImageFormat.png, .webp, .tiff] {
            let facts = try await facts(of: encoded(as: format))
            #expect(facts?.size == PixelSize(width: 64, height: 48), "\(format)")
        }
    }

    @Test func whatIsNoPictureHasNoSize() async throws {
        let facts = try #require(try await facts(of: Array("no picture".utf8)))
        #expect(facts.size == nil && facts.color == nil && facts.byteCount == 10)
        let missing = LocalFile(try #require(LocalPath("/nowhere/a.jpg")))
        #expect(PhotoFacts.read(missing, within: .ownFiles) == nil)
        let large = try await self.facts(
            of: jpeg(), limits: ImageLimits(maximumPixels: 10))
        #expect(large?.size == nil)
    }

    /// The texts that a sidecar has replaced stay when the photo is decoded.
    @Test func decodingAddsWhatItFinds() throws {
        var facts = PhotoFacts()
        facts.apply(XMPFields(Array(xmpPacket(title: "Mine", rating: 0).utf8)))
        #expect(facts.rating == nil)
        var decoded = PhotoFacts()
        (decoded.title, decoded.decodedColor, decoded.damage) = ("Its own", 0x102030, "a clause")
        decoded.size = PixelSize(width: 3, height: 2)
        facts.found(decoded)
        #expect(facts.title == "Mine" && facts.color == 0x102030 && facts.damage == "a clause")
        #expect(facts.size == decoded.size)
    }
}
