// photoloads measures how long a PhotoLoader takes for a photo: from a server with the given
// latency, from its cache on the disk, and from memory. See Benchmarks/README.md.

import DemoOrigin
import PhotoImaging
import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@main
struct PhotoLoads {
    /// usage: photoloads [PHOTOS [LATENCY-IN-MILLISECONDS]]
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
        let count = arguments.first ?? 40
        let latency = Duration.milliseconds(arguments.dropFirst().first ?? 150)
        var configuration = DemoOriginServer.Configuration()
        configuration.count = count
        configuration.faults = false
        configuration.latency = latency...latency
        let folder = URL.temporaryDirectory.appending(path: "photoloads-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withDemoOrigin(configuration) { @Sendable origin in
            let urls = origin.catalog.entries.compactMap { URL(string: origin.url + $0.path) }
            let own = AllowedHost(host: "127.0.0.1", port: origin.port)
            try await PhotoDownloader.run(allowing: [own]) { @Sendable downloader in
                try await measure(urls, downloader, folder)
            }
        }
    }

    private static func measure(
        _ urls: [URL], _ downloader: PhotoDownloader, _ folder: URL
    ) async throws {
        func loader() throws -> PhotoLoader {
            var options = PhotoLoader.Options()
            options.diskCache = try PhotoDiskCache(folder: folder)
            return PhotoLoader(downloader: downloader, options: options)
        }
        // The server paints a picture for the first request.
        for url in urls { _ = try await downloader.content(of: url) }
        let first = try loader()
        let network = try await time(of: urls, from: .network, with: first)
        let memory = try await time(of: urls, from: .memory, with: first)
        // Another loader has nothing in memory.
        let disk = try await time(of: urls, from: .cache, with: loader())
        print("origin   ms a photo   first time / this")
        for (name, time) in [("server", network), ("disk", disk), ("memory", memory)] {
            print(column(name, 8), column(text(time * 1000), 12), text(network / time))
        }
    }

    /// The mean time of one request in seconds; the requests are made one after another.
    private static func time(
        of urls: [URL], from origin: Photo.Origin, with loader: PhotoLoader
    ) async throws -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        for url in urls {
            let photo = try await loader.photo(
                for: url, filters: [.sepia()], fitting: PixelSize(width: 320, height: 320))
            precondition(photo.origin == origin, "a photo came from \(photo.origin)")
        }
        return (clock.now - start) / .seconds(urls.count)
    }

    private static func text(_ number: Double) -> String {
        String((number * 1000).rounded() / 1000)
    }

    private static func column(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
