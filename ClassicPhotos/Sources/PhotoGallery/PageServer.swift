public import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// Serves pages that a function makes, on this machine only, behind the gallery's own guard: a
/// request needs the token, and comes from the pages themselves.
public struct PageServer: Sendable {
    /// Makes the response to a request. The string is the body of the request, or of the response.
    public typealias Responder =
        @Sendable (_ request: HTTPRequest, _ body: String) async -> (HTTPResponse, String)

    private let port: Int
    private let token: GalleryToken
    private let respond: Responder

    /// Creates a server, which does not listen yet.
    ///
    /// - Parameter port: the port; 0 for any free port.
    public init(port: Int, token: GalleryToken, respond: @escaping Responder) {
        (self.port, self.token, self.respond) = (port, token, respond)
    }

    /// Serves until the program receives SIGINT or SIGTERM, or the task is cancelled.
    ///
    /// - Parameter started: called with the port once pages can be opened.
    /// - Throws: ``GalleryServer/Failure`` if the port is not available.
    public func run(started: @escaping @Sendable (_ port: Int) async -> Void) async throws {
        let host = "127.0.0.1"
        let router = Router(
            context: GalleryRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: GuardMiddleware(host: host, token: token))
        router.add(middleware: CompressionMiddleware())
        for path in ["", "**"] {
            for method in [HTTPRequest.Method.get, .post] {
                router.on(RouterPath(path), method: method) { request, context in
                    let buffer = try await request.body.collect(upTo: context.maxUploadSize)
                    let (head, body) = await respond(request.head, String(buffer: buffer))
                    return Response(
                        status: head.status, headers: head.headerFields,
                        body: ResponseBody(byteBuffer: ByteBuffer(string: body)))
                }
            }
        }
        var logger = Logger(label: "classicphotos")
        logger.logLevel = .critical
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
            onServerRunning: { channel in await started(channel.localAddress?.port ?? 0) },
            logger: logger)
        let services = ServiceGroup(
            configuration: .init(
                services: [application], gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger))
        // Run in a separate task, as in GalleryServer.
        let running = Task { try await services.run() }
        let result = await withTaskCancellationHandler {
            await running.result
        } onCancel: {
            Task { await services.triggerGracefulShutdown() }
        }
        do {
            try result.get()
        } catch let error as IOError {
            throw GalleryServer.Failure(error, host: host, port: port) ?? error
        }
    }
}
