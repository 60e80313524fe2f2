import ArgumentParser
import DemoOrigin
import Logging
import PhotoGallery
import PhotoImaging
import PhotoLibrary
@_spi(ClassicPhotos) import PhotoPipeline
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Shows a list of photos as a web page.",
        discussion: """
            Without a SOURCE, this command shows a demo: the program paints pictures, and serves \
            them slowly from a web server of its own. Some of them are broken on purpose.

            With a SOURCE, the address that the program prints contains a token, which is a new \
            one each time. Other users of this machine cannot see the photos without it.

            \(ExitCodes.description)
            """)

    @Argument(help: "A folder, a list or a picture: a path or a URL.")
    var source: String?

    @OptionGroup var filtering: FilterOptions

    @Option(
        help: """
            The port of the page; 0 for any free port. (default: 8080, or the next one that is free)
            """)
    var port: Int?

    @Option(
        help: ArgumentHelp(
            """
            The address of this machine at which the page is shown. Any address but the default \
            can be reached from other machines; whoever opens the page then needs the token that \
            the program prints, also for the demo. The connection is not encrypted.
            """,
            valueName: "address"))
    var host: String = "127.0.0.1"

    @Option(
        name: .customLong("origin"),
        help: ArgumentHelp(
            """
            The address under which browsers see the page if a proxy gives it another one, as in \
            https://photos.example.org. This option can be repeated.
            """,
            valueName: "url"),
        transform: { text in
            guard let origin = GalleryOrigin(text) else {
                throw ValidationError(
                    "\"\(text)\" is not an origin, as in https://photos.example.org.")
            }
            return origin
        })
    var origins: [GalleryOrigin] = []

    @Flag(help: "Also follow links that lead out of the folder.")
    var follow = false

    @OptionGroup var raw: RawOption

    @Option(help: "Shrink pictures to fit into a square with this side, in pixels.")
    var size: Int = 320

    @Option(help: "In the demo: the mean response time of the photo server, in milliseconds.")
    var latency: Int = 400

    @Option(help: "In the demo: the number of photos, at most 100000.")
    var count: Int = 240

    @Option(
        help: """
            The maximum memory for pictures of all pages, in megabytes; default: a quarter of the \
            memory that the program may use, but no more than 512. The program itself needs about \
            100 more.
            """)
    var memory: Int?

    @Flag(help: "Write a line about each request of a browser to standard error.")
    var logRequests = false

    @Option(
        help: ArgumentHelp(
            """
            Keep downloads in this folder, and use them again for as long as their servers allow. \
            The program creates the folder if necessary.
            """,
            valueName: "folder"))
    var cache: String?

    @Flag(
        name: .customLong("no-thumbnails"),
        help: """
            Do not keep the small pictures of own photos in the user's cache, from where the next \
            run takes them.
            """)
    var keepsNoThumbnails = false

    @Flag(
        name: .customLong("no-index"),
        help: ArgumentHelp(
            """
            Keep nothing of what the program reads in the headers of photos. It reads them again at \
            each start.
            """,
            discussion: """
                Otherwise the file classicphotos/photos.index in XDG_CACHE_HOME, or in ~/.cache, has \
                their dates, sizes, titles, keywords and a few colors. Only you can read it, and you \
                may delete it at any time.
                """))
    var hasNoIndex = false

    @OptionGroup var downloading: DownloadOptions

    @OptionGroup var timelineOption: TimelineOption

    func validate() throws {
        if filtering.hasLook {
            throw ValidationError(
                "The page cannot show looks from files; use process to apply them.")
        }
        guard (0...65_535).contains(port ?? 0) else {
            throw ValidationError("--port must be between 0 and 65535.")
        }
        guard (16...4_096).contains(size) else {
            throw ValidationError("--size must be between 16 and 4096 pixels.")
        }
        if let memory, !(64...1_048_576).contains(memory) {
            throw ValidationError("--memory must be between 64 and 1048576 megabytes.")
        }
        guard (0...60_000).contains(latency) else {
            throw ValidationError("--latency must be between 0 and 60000 milliseconds.")
        }
        guard (1...100_000).contains(count) else {
            throw ValidationError("--count must be between 1 and 100000 photos.")
        }
    }

    func run() async throws {
        try await stopping {
            if let source {
                try await PhotoDownloader.run(
                    limits: downloading.downloadLimits, allowing: downloading.allowedHosts
                ) { downloader in
                    let loaded = try await LoadedSource(
                        source, followingLinks: follow, skippingRaw: raw.skips, isChanging: true,
                        with: downloader)
                    for line in loaded.skippedFileLines { Terminal.writeError("\(line)\n") }
                    if let remark = loaded.remark { StandardOutput.writeLine(remark) }
                    if loaded.list.records.isEmpty {
                        StandardOutput.writeLine(
                            "The folder has no photos yet. The page shows new ones as they come.")
                    }
                    try await serve(loaded, with: downloader, token: GalleryToken())
                }
            } else {
                try await serveDemo()
            }
        }
    }

    private func serveDemo() async throws {
        var configuration = DemoOriginServer.Configuration()
        configuration.count = count
        let mean = Duration.milliseconds(latency)
        configuration.latency = mean * 0.4...mean * 1.6
        try await withDemoOrigin(configuration) { origin in
            StandardOutput.writeLine(
                "Showing a demo, because no source was given. Its photos come from \(origin.url)/")
            // The demo may download from its own origin, but from no other host on this machine.
            let own = AllowedHost(host: "127.0.0.1", port: origin.port)
            try await PhotoDownloader.run(
                limits: downloading.downloadLimits, allowing: downloading.allowedHosts + [own]
            ) {
                downloader in
                let loaded = try await LoadedSource(origin.propertyListURL, with: downloader)
                // Everybody may see the demo, but not use the network from elsewhere.
                let token = GalleryServer.isThisMachine(host) ? nil : GalleryToken()
                try await serve(loaded, title: "Classic Photos", with: downloader, token: token)
            }
        }
    }

    /// The demo shows that filters work; a person's own photos are shown as they are.
    private static let demoLook: [ImageFilter] = [.sepia(intensity: 0.8)]

    private func serve(
        _ loaded: LoadedSource, title: String? = nil, with downloader: PhotoDownloader,
        token: GalleryToken?
    ) async throws {
        var options = PhotoListSession.Options()
        options.filters = try filtering.filters() ?? (source == nil ? Self.demoLook : [])
        options.limits = downloading.limits
        options.size = PixelSize(width: size, height: size)
        options.downloads = downloading.downloads
        // One half for the work on pictures, one half for the pictures that are kept.
        let memory = memory.map { $0 << 20 } ?? min(MachineMemory.available / 4, 512 << 20)
        options.capacity = PixelCapacity(bytes: memory / 2)
        options.pictureBytes = memory / 2
        options.diskCache = try cache.map { try PhotoDiskCache(folder: URL(filePath: $0)) }
        options.thumbnails = keepsNoThumbnails || source == nil ? nil : CacheFolder.thumbnails()
        // The demo's photos have no files.
        options.index = PhotoIndex(
            limits: options.limits, capacity: options.capacity,
            file: hasNoIndex || source == nil ? nil : CacheFolder.index())
        try await timelineOption.recording { timeline in
            options.timeline = timeline
            var configuration = GalleryServer.Configuration(
                title: title ?? loaded.title, records: loaded.list.records, options: options,
                port: port ?? Self.usualPorts[0])
            configuration.reading = loaded.rereading.map(Self.complaining)
            configuration.host = host
            configuration.token = token
            configuration.origins = origins
            if logRequests {
                configuration.accessLogger = Logger(label: "classicphotos") { label in
                    StreamLogHandler.standardError(label: label)
                }
            }
            try await serve(configuration, with: downloader)
        }
    }

    /// Reads a list, and says once if that fails: a disk may be away for a while.
    private static func complaining(
        _ reading: @escaping @Sendable () throws(PhotoSourceError) -> PhotoList
    ) -> @Sendable () -> PhotoList? {
        let said = SaidProblem()
        return {
            do throws(PhotoSourceError) {
                let list = try reading()
                said.problem.withLock { $0 = nil }
                return list
            } catch {
                let isNew = said.problem.withLock { problem in
                    defer { problem = error }
                    return problem != error
                }
                if isNew { Terminal.writeError("\(error). The page keeps its photos.\n") }
                return nil
            }
        }
    }

    private final class SaidProblem: Sendable {
        let problem = Mutex<PhotoSourceError?>(nil)
    }

    /// The ports that are tried one after the other if none was chosen.
    private static let usualPorts = Array(8_080..<8_100)

    private func serve(
        _ configuration: GalleryServer.Configuration, with downloader: PhotoDownloader
    ) async throws {
        let ports = port.map { [$0] } ?? Self.usualPorts
        for port in ports {
            var configuration = configuration
            configuration.port = port
            let gallery = GalleryServer(configuration: configuration, downloader: downloader)
            do {
                return try await gallery.run { [configuration] in
                    await announce(configuration, port: $0)
                }
            } catch GalleryServer.Failure.portTaken where port != ports.last {
                StandardOutput.writeLine("Port \(port) is in use by another program.")
            }
        }
    }

    private func announce(_ configuration: GalleryServer.Configuration, port: Int) async {
        let count = configuration.records.count
        let photos = count == 1 ? "1 photo is" : "\(count) photos are"
        let address = PageAddress(
            host: configuration.host, port: port, token: configuration.token,
            origin: configuration.origins.first)
        StandardOutput.writeLine("\(photos) at \(address) (Press Ctrl-C to stop.)")
        if configuration.token != nil {
            StandardOutput.writeLine("Everybody who knows this address can see the photos.")
            // A phone cannot reach an address that only this machine has.
            let isForOthers =
                !GalleryServer.isThisMachine(configuration.host) || !configuration.origins.isEmpty
            if isForOthers, let code = await address.code() { StandardOutput.writeLine(code) }
        }
        // Without output, nobody would know the address.
        StandardOutput.exitIfBroken()
    }
}
