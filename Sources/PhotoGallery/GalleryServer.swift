import Hummingbird
import Logging
import NIOCore
public import PhotoPipeline

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Shows one list of photos to any number of pages, on this machine only.
public struct GalleryServer: Sendable {
    /// What is shown, and where.
    public struct Configuration: Sendable {
        /// What the page calls the list.
        public var title: String
        /// The photos.
        public var records: [PhotoRecord]
        /// How they are worked on.
        public var options: PhotoListSession.Options
        /// The port; 0 for any that is free.
        public var port: Int

        /// Makes a configuration.
        public init(
            title: String, records: [PhotoRecord], options: PhotoListSession.Options, port: Int
        ) {
            self.title = title
            self.records = records
            self.options = options
            self.port = port
        }
    }

    /// Why the server could not be started.
    public enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
        /// Another program listens on the port.
        case portTaken(Int)
        /// The system does not let this program have the port.
        case portForbidden(Int)

        /// A sentence that says what to do.
        public var description: String {
            switch self {
            case .portTaken(let port):
                "Port \(port) is taken by another program. Choose another one with --port, or "
                    + "--port 0 for any that is free."
            case .portForbidden(let port):
                "This program may not listen on port \(port). Choose one above 1023 with --port."
            }
        }
    }

    private let configuration: Configuration
    private let pages: GalleryPages

    /// Makes a server; nothing listens yet.
    public init(configuration: Configuration, downloader: PhotoDownloader) {
        self.configuration = configuration
        self.pages = GalleryPages(
            records: configuration.records, options: configuration.options, downloader: downloader)
    }

    /// Serves until the program is told to stop (SIGINT, SIGTERM) or the task is cancelled.
    ///
    /// - Parameter started: called with the port once pages can be opened.
    /// - Throws: ``Failure`` if the port cannot be had.
    public func run(started: @escaping @Sendable (_ port: Int) async -> Void) async throws {
        let result: Result<Void, any Error>
        do {
            try await application(started: started).runService()
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await pages.closeAll()
        do {
            try result.get()
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw Failure.portTaken(configuration.port)
        } catch let error as IOError where error.errnoCode == EACCES {
            throw Failure.portForbidden(configuration.port)
        }
    }

    func application(
        started: @escaping @Sendable (_ port: Int) async -> Void
    ) -> some ApplicationProtocol {
        var logger = Logger(label: "classicphotos")
        logger.logLevel = .critical
        return Application(
            router: router(),
            configuration: ApplicationConfiguration(
                address: .hostname("127.0.0.1", port: configuration.port)),
            onServerRunning: { channel in await started(channel.localAddress?.port ?? 0) },
            logger: logger)
    }

    private func router() -> Router<BasicRequestContext> {
        let router = Router(context: BasicRequestContext.self)
        router.add(middleware: GuardMiddleware())
        PageRoutes().add(to: router)
        APIRoutes(configuration: configuration, pages: pages).add(to: router.group("api"))
        return router
    }
}
