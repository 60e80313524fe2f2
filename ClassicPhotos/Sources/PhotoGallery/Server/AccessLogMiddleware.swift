import HTTPTypes
import Hummingbird
import Logging

/// Logs each request with its status and the time until its response began.
///
/// The query of an address is left out: it can contain the token, or the text of a search.
struct AccessLogMiddleware: RouterMiddleware {
    typealias Context = GalleryRequestContext

    let logger: Logger

    func handle(
        _ request: Request, context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        let response = try await next(request, context)
        let tenths = ((ContinuousClock.now - start) / .milliseconds(0.1)).rounded()
        let (method, path) = (request.method.rawValue, Self.visible(request.uri.path))
        logger.info("\(method) \(path) \(response.status.code) \(tenths / 10) ms")
        return response
    }

    /// A path without characters that could begin another line or control a terminal.
    static func visible(_ path: String) -> String {
        String(
            String.UnicodeScalarView(
                path.unicodeScalars.prefix(200).map {
                    $0.isASCII && $0.value > 32 && $0.value < 127 ? $0 : "?"
                }))
    }
}
