import ArgumentParser
import DemoOrigin
import FoundationEssentials
import Imaging
import PhotoGallery
import PhotoPipeline

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Shows a list of photos as a web page, on this machine only.",
        discussion: """
            Without a SOURCE, this command shows a demo: the program paints pictures, and serves \
            them slowly from a web server of its own. Some of them are broken on purpose.

            \(ExitCodes.description)
            """)

    @Argument(help: "A folder, a list or a picture: a path or a URL.")
    var source: String?

    @OptionGroup var filtering: FilterOptions

    @Option(help: "The port of the page; 0 for any free port.")
    var port: Int = 8080

    @Option(help: "Shrink pictures to fit into a square with this side, in pixels.")
    var size: Int = 320

    @Option(help: "In the demo: the mean response time of the photo server, in milliseconds.")
    var latency: Int = 400

    @Option(help: "In the demo: the number of photos, up to 100000.")
    var count: Int = 240

    @Option(
        help: ArgumentHelp(
            """
            Keep downloads in this folder, and use them again as long as their servers allow it. \
            The folder is made if it is missing.
            """,
            valueName: "folder"))
    var cache: String?

    @OptionGroup var downloading: DownloadOptions

    @OptionGroup var timelineOption: TimelineOption

    func validate() throws {
        guard (0...65_535).contains(port) else {
            throw ValidationError("--port must be between 0 and 65535.")
        }
        guard (16...4_096).contains(size) else {
            throw ValidationError("--size must be between 16 and 4096 pixels.")
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
                try await PhotoDownloader.run(allowing: downloading.allowedHosts) { downloader in
                    let loaded = try await LoadedSource(source, with: downloader)
                    for line in loaded.unsupportedFileLines { Terminal.writeError("\(line)\n") }
                    if let remark = loaded.remark { StandardOutput.writeLine(remark) }
                    try await serve(loaded.list.records, title: loaded.title, with: downloader)
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
            try await PhotoDownloader.run(allowing: downloading.allowedHosts + [own]) {
                downloader in
                let loaded = try await LoadedSource(origin.propertyListURL, with: downloader)
                try await serve(loaded.list.records, title: "Classic Photos", with: downloader)
            }
        }
    }

    private func serve(
        _ records: [PhotoRecord], title: String, with downloader: PhotoDownloader
    ) async throws {
        var options = PhotoListSession.Options()
        options.filters = try filtering.filters() ?? FilterOptions.defaults
        options.limits = downloading.limits
        options.size = PixelSize(width: size, height: size)
        options.downloads = downloading.downloads
        options.diskCache = try cache.map { try PhotoDiskCache(folder: URL(filePath: $0)) }
        try await timelineOption.recording { timeline in
            options.timeline = timeline
            let gallery = GalleryServer(
                configuration: .init(title: title, records: records, options: options, port: port),
                downloader: downloader)
            try await gallery.run { port in
                let photos = records.count == 1 ? "1 photo is" : "\(records.count) photos are"
                StandardOutput.writeLine(
                    "\(photos) at http://localhost:\(port)/ (Press Ctrl-C to stop.)")
                // Without output, nobody would know the address.
                StandardOutput.exitIfBroken()
            }
        }
    }
}
