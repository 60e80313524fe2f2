import Foundation
import NIOHTTP1
import Operations
import OperationsTestSupport
import PhotoImaging
import Testing

@testable import PhotoGallery
@testable import PhotoLibrary
@testable import PhotoPipeline

/// What a person saves, and the picture in full size, of files with a camera's notes.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct ResultRouteTests {
    /// An EXIF block with the maker "Camera".
    private static let exif: [UInt8] = {
        let make = Array("Camera\0".utf8)
        let tiff: [UInt8] =
            [0x4D, 0x4D, 0x00, 0x2A, 0, 0, 0, 8, 0, 1]
            + [0x01, 0x0F, 0, 2, 0, 0, 0, UInt8(make.count), 0, 0, 0, 26] + [0, 0, 0, 0] + make
        return Array("Exif\0\0".utf8) + tiff
    }()

    /// A picture that is larger than the largest picture of the page used to be.
    private static func photo(as format: ImageFormat) throws -> [UInt8] {
        let size = PixelSize(width: 2_700, height: 40)
        let pixels = (0..<(size.pixelCount * 3)).map { UInt8(truncatingIfNeeded: $0 / 90) }
        let jpeg = try ImageEngine.encode(Bitmap(size: size, pixels: pixels), as: .jpeg).bytes
        let length = exif.count + 2
        let segment = [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)] + exif
        let file = Array(jpeg[..<2]) + segment + Array(jpeg[2...])
        guard format != .jpeg else { return file }
        return try ImageEngine.encode(
            ImageEngine.decode(file, fitting: nil, keeping: .metadata), as: format
        ).bytes
    }

    private func withPhotos(
        _ body: (Gallery, [PhotoRecord], URL) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "gallery-\(UUID().uuidString)")
        let source = folder.appending(path: "in")
        try FileManager.default.createDirectory(at: source, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(Self.photo(as: .jpeg)).write(to: source.appending(path: "first.jpeg"))
        try Data(Self.photo(as: .webp)).write(to: source.appending(path: "second.webp"))
        let records = try PhotoList.read(folder: source).records
        try await withGallery(photos: records) { gallery in
            try await body(gallery, records, folder)
        }
    }

    /// The files that `process` writes.
    private func batch(
        _ records: [PhotoRecord], _ recipe: PhotoRecipe, into folder: URL
    ) async throws -> [String: [UInt8]] {
        let downloader = PhotoDownloader()
        let output = try OutputFolder(folder.path(percentEncoded: false))
        let batch = PhotoBatch(
            options: .init(recipe: recipe, folder: output), downloader: downloader)
        _ = await batch.run(records) { _, _ in }
        await downloader.shutdown()
        var files: [String: [UInt8]] = [:]
        for name in ["first.jpg", "second.webp"] {
            files[name] = Array(try Data(contentsOf: folder.appending(path: name)))
        }
        return files
    }

    @Test(arguments: [("full", nil), ("64", 64)] as [(String, Int?)])
    func savedResultIsFileOfProcess(size: String, side: Int?) async throws {
        try await withPhotos { gallery, records, folder in
            let recipe = PhotoRecipe(
                filters: [.sepia(intensity: 0.8)],
                size: side.map { PixelSize(width: $0, height: $0) })
            let expected = try await batch(records, recipe, into: folder.appending(path: "out"))
            for (row, name) in ["first.jpg", "second.webp"].enumerated() {
                let (status, headers, bytes) = try await gallery.getBytes(
                    "/api/photos/\(row)/result?size=\(size)&filters=sepia=0.8")
                #expect(status == 200)
                #expect(bytes == expected[name], "\(name)")
                #expect(try ImageEngine.exif(of: bytes).camera == "Camera")
                #expect(try ImageEngine.inspect(bytes).size.width == side ?? 2_700)
                let format: ImageFormat = row == 0 ? .jpeg : .webp
                #expect(headers.first(name: "content-type") == format.mediaType)
                #expect(
                    headers.first(name: "content-disposition")
                        == "attachment; filename=\"\(name)\"; filename*=UTF-8''\(name)")
            }
        }
    }

    @Test func pictureHasFullSizeWithoutMetadata() async throws {
        try await withPhotos { gallery, _, _ in
            for (fit, width) in [("full", 2_700), ("5120", 2_700), ("2560", 2_560)] {
                for row in 0..<2 {
                    let (status, headers, bytes) = try await gallery.getBytes(
                        "/api/photos/\(row)/picture?fit=\(fit)&filters=noir")
                    #expect(status == 200)
                    #expect(headers.first(name: "content-type") == "image/jpeg")
                    #expect(headers.first(name: "content-disposition") == nil)
                    let info = try ImageEngine.inspect(bytes)
                    #expect(info.size.width == width && !info.metadataKinds.contains(.exif))
                }
            }
            // Large pixels would displace those of the list.
            #expect(gallery.server.viewer.loader.memory.byteCount <= 2 * 2_560 * 40 * 3 + 2_000)
        }
    }

    @Test(arguments: [
        "size=0", "size=15", "size=65536", "size=-64", "size=huge", "size=", "filters=nosuch",
    ])
    func invalidResultRequestIsRejected(query: String) async throws {
        try await withGallery { gallery in
            let (status, _, text) = try await gallery.get("/api/photos/0/result?\(query)")
            #expect(status == 400)
            #expect(text.contains("\"message\":\""))
        }
    }
}
