import Departures
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// A photo origin on this machine: serves a list of pictures and the pictures themselves over HTTP.
///
/// | Address | Response |
/// |---|---|
/// | `/photos.plist`, `/photos.json` | the list, see ``DemoCatalog`` |
/// | `/photos/<name>.jpg` | a picture, or one of the list's deliberate failures |
/// | `/faults/<kind>` | a deliberate failure, see ``DemoFault`` |
///
/// The server listens on 127.0.0.1 only. Pictures are rendered on first request, in an
/// operation queue, and cached up to ``Configuration/cacheBytes``. A picture whose clients have all
/// disconnected before its rendering begins is not rendered.
///
/// A long-running program starts the server and stops it when done. A test uses
/// ``withDemoOrigin(_:encoding:_:)``, which always stops the server. All methods are thread-safe.
public final class DemoOriginServer: Sendable {
    /// The port of the server; never 0.
    public let port: Int
    private let responder: OriginResponder
    private let renderers: [PhotoRenderer]
    private let services: ServiceGroup
    private let running: Task<Void, any Error>

    private init(
        port: Int, responder: OriginResponder, renderers: [PhotoRenderer], services: ServiceGroup,
        running: Task<Void, any Error>
    ) {
        self.port = port
        self.responder = responder
        self.renderers = renderers
        self.services = services
        self.running = running
    }

    /// The address without a trailing slash: `http://127.0.0.1:…`.
    public var url: String { "http://127.0.0.1:\(port)" }

    /// The address of the list as a property list.
    public var propertyListURL: String { url + "/photos.plist" }

    /// The address of the list as JSON.
    public var jsonURL: String { url + "/photos.json" }

    /// The contents of the list.
    public var catalog: DemoCatalog { responder.catalog }

    /// The address of a failure.
    public func url(for fault: DemoFault) -> String { url + fault.path }

    /// The number of requests for an address that starts at the root, such as ``DemoFault/path``.
    public func requestCount(for path: String) -> Int { responder.requestCount(path) }

    /// The number of requests that wait for a rendering of the list, for tests.
    var renderingRequestCount: Int { renderers[0].requestCount }

    /// Starts a server and returns once it listens.
    ///
    /// - Parameters:
    ///   - configuration: the contents and the speed of the server.
    ///   - encoding: encodes pictures as files; JPEG by default.
    /// - Throws: ``DemoOriginError/cannotListen(port:reason:)`` if the port is taken or forbidden.
    public static func start(
        _ configuration: Configuration = Configuration(),
        encoding: any PhotoEncoding = JPEGPhotos()
    ) async throws -> DemoOriginServer {
        let renderers = [
            PhotoRenderer(
                encoding: encoding, threadCount: configuration.threads,
                byteLimit: configuration.cacheBytes),
            // The fault routes' small picture must not wait behind a queue of large ones.
            PhotoRenderer(encoding: encoding, threadCount: 1, byteLimit: 4 << 20),
        ]
        let responder = OriginResponder(
            configuration, renderer: renderers[0], sampleRenderer: renderers[1])
        let (ports, announced) = AsyncStream<Int>.makeStream()
        let services = services(of: application(configuration, responder) { announced.yield($0) })
        let running = Task {
            defer { announced.finish() }
            try await services.run()
        }
        for await port in ports {
            return DemoOriginServer(
                port: port, responder: responder, renderers: renderers, services: services,
                running: running)
        }
        let result = await running.result
        for renderer in renderers { await renderer.close() }
        guard case .failure(let error) = result else { throw CancellationError() }
        throw DemoOriginError.cannotListen(
            port: configuration.port, reason: String(describing: error))
    }

    private static func application(
        _ configuration: Configuration, _ responder: OriginResponder,
        _ listening: @escaping @Sendable (Int) -> Void
    ) -> some ApplicationProtocol {
        Application(
            responder: CallbackResponder { (request: Request, context: OriginRequestContext) in
                try await responder.respond(to: request, context)
            },
            server: .http1(
                configuration: .init(additionalChannelHandlers: [DepartureHandler()])),
            configuration: ApplicationConfiguration(
                address: .hostname("127.0.0.1", port: configuration.port),
                serverName: "DemoOrigin"),
            onServerRunning: { listening($0.localAddress?.port ?? configuration.port) },
            logger: configuration.logger)
    }

    /// The services that run the server and stop it: first the server stops listening, then after a
    /// moment it cancels the requests that remain.
    ///
    /// Cancelling a server that listens crashes the program if the server has just accepted a
    /// connection: <https://github.com/apple/swift-nio/issues/3481>.
    private static func services(of application: some ApplicationProtocol) -> ServiceGroup {
        var configuration = ServiceGroupConfiguration(
            services: [application], logger: application.logger)
        configuration.maximumGracefulShutdownDuration = .milliseconds(100)
        return ServiceGroup(configuration: configuration)
    }

    /// Stops listening, closes every connection, and returns when the server has stopped.
    ///
    /// Requests in progress have a tenth of a second to finish. A rendering in progress always
    /// finishes, which may take as long; renderings that have not begun are dropped. Further calls
    /// have no effect.
    public func stop() async {
        await services.triggerGracefulShutdown()
        // This comes first: requests whose renderings are dropped fail now, so the wait is short.
        for renderer in renderers { await renderer.close() }
        _ = await running.result
    }

    /// Returns when the server has stopped; for a program without other work.
    ///
    /// - Throws: the error that ended the server, if any; ``stop()`` is not an error.
    public func waitUntilStopped() async throws {
        do {
            try await running.value
        } catch is CancellationError {
            return
        }
    }
}

/// Runs a server for the duration of a closure.
///
/// - Throws: the errors of ``DemoOriginServer/start(_:encoding:)`` and of `body`.
/// - Returns: the result of `body`. The server has stopped in every case.
public func withDemoOrigin<Value: Sendable>(
    _ configuration: DemoOriginServer.Configuration = .init(),
    encoding: any PhotoEncoding = JPEGPhotos(),
    _ body: (DemoOriginServer) async throws -> Value
) async throws -> Value {
    let server = try await DemoOriginServer.start(configuration, encoding: encoding)
    do {
        let value = try await body(server)
        await server.stop()
        return value
    } catch {
        await server.stop()
        throw error
    }
}
