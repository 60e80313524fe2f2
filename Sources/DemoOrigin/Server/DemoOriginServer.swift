import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// A photo origin on this machine: a list of pictures and the pictures themselves, over HTTP.
///
/// | Address | Answer |
/// |---|---|
/// | `/photos.plist`, `/photos.json` | the list, see ``DemoCatalog`` |
/// | `/photos/<name>.jpg` | a picture, or one of the list's deliberate failures |
/// | `/faults/<kind>` | one failure on purpose, see ``DemoFault`` |
///
/// It listens on 127.0.0.1 only. Pictures are rendered when they are first asked for, on threads of
/// their own, and kept up to ``Configuration/cacheBytes``.
///
/// A program that runs for hours starts it, and stops it when it is done; a test writes
/// ``withDemoOrigin(_:encoding:_:)``, which cannot forget to stop. Every method may be called from
/// any thread.
public final class DemoOriginServer: Sendable {
    /// Where it listens; never 0.
    public let port: Int
    private let responder: OriginResponder
    private let darkrooms: [PhotoDarkroom]
    private let services: ServiceGroup
    private let running: Task<Void, any Error>

    private init(
        port: Int, responder: OriginResponder, darkrooms: [PhotoDarkroom], services: ServiceGroup,
        running: Task<Void, any Error>
    ) {
        self.port = port
        self.responder = responder
        self.darkrooms = darkrooms
        self.services = services
        self.running = running
    }

    /// Its address without a slash at the end: `http://127.0.0.1:…`.
    public var url: String { "http://127.0.0.1:\(port)" }

    /// The address of the list as a property list.
    public var propertyListURL: String { url + "/photos.plist" }

    /// The address of the list as JSON.
    public var jsonURL: String { url + "/photos.json" }

    /// What the list holds.
    public var catalog: DemoCatalog { responder.catalog }

    /// The address of a failure.
    public func url(for fault: DemoFault) -> String { url + fault.path }

    /// How many requests came for an address that begins at the root, such as ``DemoFault/path``.
    public func requestCount(for path: String) -> Int { responder.requestCount(path) }

    /// Starts a server, and returns once it listens.
    ///
    /// - Parameters:
    ///   - configuration: what it serves, and how slowly.
    ///   - encoding: how pictures become files; JPEG unless a test wants it simpler.
    /// - Throws: ``DemoOriginError/cannotListen(port:reason:)`` when the port is taken or forbidden.
    public static func start(
        _ configuration: Configuration = Configuration(),
        encoding: any PhotoEncoding = JPEGPhotos()
    ) async throws -> DemoOriginServer {
        let darkrooms = [
            PhotoDarkroom(
                encoding: encoding, threadCount: configuration.threads,
                byteLimit: configuration.cacheBytes),
            // The fault routes' one small picture must not wait behind a queue of large ones.
            PhotoDarkroom(encoding: encoding, threadCount: 1, byteLimit: 4 << 20),
        ]
        let responder = OriginResponder(
            configuration, darkroom: darkrooms[0], samples: darkrooms[1])
        let (ports, announced) = AsyncStream<Int>.makeStream()
        let services = services(of: application(configuration, responder) { announced.yield($0) })
        let running = Task {
            defer { announced.finish() }
            try await services.run()
        }
        for await port in ports {
            return DemoOriginServer(
                port: port, responder: responder, darkrooms: darkrooms, services: services,
                running: running)
        }
        let result = await running.result
        for darkroom in darkrooms { try await darkroom.close() }
        guard case .failure(let error) = result else { throw CancellationError() }
        throw DemoOriginError.cannotListen(
            port: configuration.port, reason: String(describing: error))
    }

    private static func application(
        _ configuration: Configuration, _ responder: OriginResponder,
        _ listening: @escaping @Sendable (Int) -> Void
    ) -> some ApplicationProtocol {
        Application(
            responder: CallbackResponder { (request: Request, _: BasicRequestContext) in
                try await responder.respond(to: request)
            },
            configuration: ApplicationConfiguration(
                address: .hostname("127.0.0.1", port: configuration.port),
                serverName: "DemoOrigin"),
            onServerRunning: { listening($0.localAddress?.port ?? configuration.port) },
            logger: configuration.logger)
    }

    /// What runs the server, and stops it: first it stops listening, a moment later it cancels what is not
    /// over by itself.
    ///
    /// A server that is cancelled while it listens stops the program if it has just accepted a connection:
    /// <https://github.com/apple/swift-nio/issues/3481>.
    private static func services(of application: some ApplicationProtocol) -> ServiceGroup {
        var configuration = ServiceGroupConfiguration(
            services: [application], logger: application.logger)
        configuration.maximumGracefulShutdownDuration = .milliseconds(100)
        return ServiceGroup(configuration: configuration)
    }

    /// Stops listening, closes every connection, and returns when all of it is over.
    ///
    /// What is under way has a tenth of a second to come to its end; a rendering is finished first, which may
    /// take as long. Calling it again does nothing.
    public func stop() async {
        await services.triggerGracefulShutdown()
        _ = await running.result
        for darkroom in darkrooms { try? await darkroom.close() }
    }

    /// Returns when the server has stopped, for a program that has nothing else to do.
    ///
    /// - Throws: what ended the server, unless it was ``stop()``.
    public func waitUntilStopped() async throws {
        do {
            try await running.value
        } catch is CancellationError {
            return
        }
    }
}

/// Runs a server for as long as a closure needs it.
///
/// - Throws: what ``DemoOriginServer/start(_:encoding:)`` throws, and what `body` throws.
/// - Returns: what `body` returns; the server has stopped by then, whatever happened.
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
