import Clibz
import Foundation
import NIOHTTP1
import OperationsTestSupport
import PhotoLibrary
import Testing

@testable import PhotoGallery

@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct CompressionTests {
    private static let page = String(repeating: "2d", count: 16)
    private static let accepting = [("Accept-Encoding", "br;q=1, gzip;q=0.8")]

    @Test(arguments: ["/", "/app.js", "/app.css", "/favicon.svg", "/api/photos", "/api/filters"])
    func textIsCompressedForClientsThatAcceptIt(path: String) async throws {
        try await withGallery { gallery in
            let plain = try await gallery.getBytes(path)
            #expect(plain.headers["content-encoding"].isEmpty)
            let compressed = try await gallery.getBytes(path, headers: Self.accepting)
            #expect(compressed.headers["content-encoding"] == ["gzip"])
            #expect(compressed.bytes.count < plain.bytes.count)
            #expect(
                compressed.headers["content-length"] == ["\(compressed.bytes.count)"])
            let bytes = try #require(decompressed(compressed.bytes, limit: 1 << 20))
            if path.hasPrefix("/api/") {
                // The order of keys differs.
                #expect(try json(bytes) == json(plain.bytes))
            } else {
                #expect(bytes == plain.bytes)
            }
            for headers in [plain.headers, compressed.headers] {
                #expect(headers["vary"] == ["Accept-Encoding"])
            }
        }
    }

    @Test func picturesAndEventsStayAsTheyAre() async throws {
        try await withGallery { gallery in
            for path in ["/api/photos/0/picture?fit=640", "/api/photos/0/original"] {
                let picture = try await gallery.getBytes(path, headers: Self.accepting)
                #expect(picture.status == 200)
                #expect(picture.headers["content-encoding"].isEmpty)
                #expect(picture.bytes.starts(with: [0xFF, 0xD8]))
            }
            let address = "/api/events?page=\(Self.page)"
            let (status, headers, _) = try await gallery.head(address, headers: Self.accepting)
            #expect(status == 200 && headers["content-encoding"].isEmpty)
        }
    }

    /// A page that is opened again costs a few hundred bytes for each file.
    @Test func unchangedFilesAreNotSentAgain() async throws {
        try await withGallery { gallery in
            for encoding in ["gzip", "identity"] {
                let accepting = [("Accept-Encoding", encoding)]
                let first = try await gallery.getBytes("/app.js", headers: accepting)
                let tag = try #require(first.headers.first(name: "etag"))
                let again = try await gallery.getBytes(
                    "/app.js", headers: accepting + [("If-None-Match", tag)])
                #expect(again.status == 304 && again.bytes.isEmpty)
                #expect(again.headers["etag"] == [tag])
                let other = try await gallery.getBytes(
                    "/app.js", headers: accepting + [("If-None-Match", "\"other\"")])
                #expect(other.status == 200)
            }
        }
    }

    @Test(arguments: [
        ("gzip", true), ("GZIP", true), ("deflate, gzip;q=0.5", true), ("*", true),
        ("*;q=0, gzip", true), ("gzip;q=0", false), ("gzip; q=0.0, *", false), ("br", false),
        ("identity", false), ("", false), (";", false), ("gzip;q=x", false),
    ])
    func acceptedEncodingsAreUnderstood(header: String, isAccepted: Bool) {
        #expect(Gzip.isAccepted(by: header) == isAccepted)
    }

    @Test func everyLengthSurvives() throws {
        #expect(!Gzip.isAccepted(by: nil))
        for count in [0, 1, 1_000, 300_000] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* $0 &* 31 >> 3) }
            for level: Int32 in [1, 9] {
                let compressed = try #require(Gzip.compressed(bytes, level: level))
                #expect(decompressed(compressed, limit: count + 1) == bytes)
            }
        }
    }

    private func json(_ bytes: [UInt8]) throws -> NSObject? {
        try JSONSerialization.jsonObject(with: Data(bytes)) as? NSObject
    }

    /// Decompresses a file of gzip; nil if it is damaged.
    private func decompressed(_ bytes: [UInt8], limit: Int) -> [UInt8]? {
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        guard inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, size) == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        var input = bytes
        var result = Z_OK
        let output = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            input.withUnsafeMutableBufferPointer { input in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = buffer.baseAddress
                stream.avail_out = UInt32(limit)
                result = inflate(&stream, Z_FINISH)
            }
            count = limit - Int(stream.avail_out)
        }
        return result == Z_STREAM_END ? output : nil
    }
}
