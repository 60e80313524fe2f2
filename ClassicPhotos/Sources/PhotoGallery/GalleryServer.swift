import Departures
import Hummingbird
public import Logging
import NIOCore
import Operations
public import PhotoLibrary
public import PhotoPipeline
import ServiceLifecycle
import UnixSignals

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// Shows one list of photos to any number of pages, on this machine only or on others, too.
public struct GalleryServer: Sendable {
    /// The contents and the address of a gallery.
    public struct Configuration: Sendable {
        /// The title of the list on the page.
        public var title: String
        /// The photos.
        public var records: [PhotoRecord]
        /// Reads the list again, to show new photos and to remove deleted ones; nil for a list that
        /// stays as it is.
        ///
        /// The closure runs on a thread that may block. It returns nil if the list cannot be read
        /// now, and the present photos stay.
        public var reading: (@Sendable () -> PhotoList?)?
        /// The options for processing the photos.
        public var options: PhotoListSession.Options
        /// The port; 0 for any free port.
        public var port: Int
        /// The name or address on which the server listens; this machine only by default.
        public var host = "127.0.0.1"
        /// The secret that clients need; nil for none, which is allowed on this machine only. All
        /// users of this machine can then see the photos.
        public var token: GalleryToken?
        /// The addresses under which browsers see the gallery, in addition to its own: those of a
        /// proxy that gives requests another Host.
        public var origins: [GalleryOrigin] = []
        /// Receives a message for each request; nil for no log of requests.
        public var accessLogger: Logger?
        /// The limits on the resources that clients may use.
        public var limits = GalleryLimits()

        /// Creates a configuration.
        public init(
            title: String, records: [PhotoRecord], options: PhotoListSession.Options, port: Int
        ) {
            self.title = title
            self.records = records
            self.options = options
            self.port = port
        }
    }

    /// The reason why the server could not start.
    public enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
        /// Another program listens on the port.
        case portTaken(Int)
        /// The system does not allow this program to use the port.
        case portForbidden(Int)
        /// This machine does not have the address.
        case hostUnknown(String)
        /// Other machines could use the server without a token.
        case tokenMissing(String)

        /// A sentence that says what to do.
        public var description: String {
            switch self {
            case .portTaken(let port):
                "Port \(port) is in use by another program. Choose another port with --port, or "
                    + "use --port 0 for any free port."
            case .portForbidden(let port):
                "This program may not listen on port \(port). Choose a port above 1023 with --port."
            case .hostUnknown(let host):
                "This machine does not have the address \(host). Choose one of its addresses with "
                    + "--host, or use --host 0.0.0.0 for all of them."
            case .tokenMissing(let host):
                "A gallery at \(host) can be reached from other machines, so it needs a token."
            }
        }
    }

    private let configuration: Configuration
    private let catalog: PhotoCatalog
    let pages: GalleryPages
    let viewer: PhotoViewer
    private let thumbnails: ListPictures
    private let freedMemory: FreedMemory

    /// Creates a server, which does not listen yet.
    public init(configuration: Configuration, downloader: PhotoDownloader) {
        self.configuration = configuration
        let options = configuration.options
        var loading = options.forLoader
        // Browsers show what is left of a damaged photo, too; the page says that it is damaged.
        loading.acceptsDamage = true
        let loader = PhotoLoader(downloader: downloader, options: loading)
        catalog = PhotoCatalog(configuration.records)
        viewer = PhotoViewer(catalog: catalog, options: options, loader: loader)
        freedMemory = FreedMemory(loader: loader, viewer: viewer)
        pages = GalleryPages(
            catalog: catalog, options: options, loader: loader, limits: configuration.limits,
            emptied: freedMemory.giveBackPictures)
        thumbnails = ListPictures(catalog: catalog, options: options, loader: loader)
    }

    /// Serves until the program receives SIGINT or SIGTERM, or the task is cancelled.
    ///
    /// - Parameter started: called with the port once pages can be opened.
    /// - Throws: ``Failure`` if the port is not available.
    public func run(started: @escaping @Sendable (_ port: Int) async -> Void) async throws {
        guard configuration.token != nil || Self.isThisMachine(configuration.host) else {
            throw Failure.tokenMissing(configuration.host)
        }
        let services = ServiceGroup(
            configuration: .init(
                services: [application(started: started)],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: Self.logger))
        // Run in a separate task: cancelling a server that listens crashes the program if the
        // server has just accepted a connection, https://github.com/apple/swift-nio/issues/3481.
        let running = Task { try await services.run() }
        let index = configuration.options.index
        let changes = index.subscribe()
        let telling = Task {
            for await _ in changes { await pages.factsFound(index.takeChanges()) }
        }
        index.prepare(catalog.contents)
        let indexing = Task {
            await index.ready(for: catalog.contents)
            freedMemory.giveBackUnused()
        }
        let following = configuration.reading.map { reading in
            Task {
                await ListFollower(
                    catalog: catalog, index: index, pages: pages, reading: reading
                ).run()
            }
        }
        let result = await withTaskCancellationHandler {
            await running.result
        } onCancel: {
            Task { await services.triggerGracefulShutdown() }
        }
        following?.cancel()
        index.close()
        telling.cancel()
        indexing.cancel()
        await pages.closeAll()
        await viewer.close()
        do {
            try result.get()
        } catch let error as IOError {
            throw Failure(error, host: configuration.host, port: configuration.port) ?? error
        } catch is SocketAddressError {
            throw Failure.hostUnknown(configuration.host)
        }
    }

    /// Whether only this machine can connect to an address.
    public static func isThisMachine(_ host: String) -> Bool {
        ["127.0.0.1", "::1", "localhost"].contains(host)
    }

    func application(
        started: @escaping @Sendable (_ port: Int) async -> Void
    ) -> some ApplicationProtocol {
        let limits = configuration.limits
        // A server for this machine only is used by programs that could do worse.
        let connections =
            Self.isThisMachine(configuration.host)
            ? nil : ClientConnections(limit: limits.connectionsPerClient)
        return Application(
            router: router(),
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [
                        ConnectionLimitHandler(limits: limits, connections: connections),
                        DepartureHandler(),
                    ])),
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port),
                availableConnectionsDelegate: .maximum(limits.connections, logger: Self.logger)),
            onServerRunning: { channel in await started(channel.localAddress?.port ?? 0) },
            logger: Self.logger)
    }

    private static var logger: Logger {
        var logger = Logger(label: "classicphotos")
        logger.logLevel = .critical
        return logger
    }

    private func router() -> Router<GalleryRequestContext> {
        let router = Router(
            context: GalleryRequestContext.self, options: .autoGenerateHeadEndpoints)
        if let logger = configuration.accessLogger {
            router.add(middleware: AccessLogMiddleware(logger: logger))
        }
        router.add(
            middleware: GuardMiddleware(
                host: configuration.host, token: configuration.token,
                origins: configuration.origins))
        router.add(middleware: CompressionMiddleware())
        PageRoutes().add(to: router)
        StatusRoutes(catalog: catalog, pages: pages, viewer: viewer)
            .add(to: router)
        let group = router.group("api")
        APIRoutes(configuration: configuration, catalog: catalog, pages: pages).add(to: group)
        OrderRoutes(catalog: catalog, index: configuration.options.index, pages: pages)
            .add(to: group)
        EngineRoutes(pages: pages).add(to: group)
        PhotoRoutes(catalog: catalog, viewer: viewer, thumbnails: thumbnails, pages: pages)
            .add(to: group)
        return router
    }
}

extension GalleryServer.Failure {
    /// The failure that an error of the system means; nil for another one.
    init?(_ error: IOError, host: String, port: Int) {
        switch error.errnoCode {
        case EADDRINUSE: self = .portTaken(port)
        case EACCES: self = .portForbidden(port)
        case EADDRNOTAVAIL: self = .hostUnknown(host)
        default: return nil
        }
    }
}
