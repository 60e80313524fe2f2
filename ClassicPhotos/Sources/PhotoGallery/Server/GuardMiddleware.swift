import HTTPTypes
import Hummingbird

/// Checks requests and sets the security headers of responses.
///
/// The server listens on loopback. Nevertheless, any page in a browser on this machine can send
/// requests here, and with a name that the page controls (DNS rebinding) it can even read the
/// responses. Therefore:
///
/// - A request must have exactly one Host: this machine's own name or address with this server's
///   port.
/// - A request from a browser must come from this server's own page (`Sec-Fetch-Site`), and a
///   request that changes state must not have a different Origin.
/// - Pages load no external resources, run no inline scripts, and cannot be framed.
struct GuardMiddleware: RouterMiddleware {
    typealias Context = GalleryRequestContext

    private static let ownHosts: Set<String> = ["localhost", "127.0.0.1", "[::1]"]

    private static let contentPolicy = [
        "default-src 'none'", "img-src 'self'", "script-src 'self'", "style-src 'self'",
        "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    func handle(
        _ request: Request, context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        var response = try await answer(to: request, context: context, next: next)
        harden(&response)
        return request.method == .head ? response.createHeadResponse() : response
    }

    private func answer(
        to request: Request, context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        // The first Host has become the authority, so a remaining Host is a second one.
        guard !request.headers.contains(.host) else {
            return refusal(.badRequest, "A request must have exactly one Host header.")
        }
        guard let host = request.head.authority, isOwn(host, port: context.port) else {
            return refusal(
                .forbidden,
                "Open this gallery at its own address, http://localhost:\(context.port)/")
        }
        guard isFromOwnPage(request, host: host) else {
            return refusal(.forbidden, "Only the gallery's own page can send this request.")
        }
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound && error.body == nil {
            return refusal(.notFound, "There is nothing at this address.")
        } catch let error as any HTTPResponseError {
            // Thrown errors would otherwise bypass the headers that other responses get.
            return try error.response(from: request, context: context)
        }
    }

    /// Whether the host is this machine. The whole text is compared, so that additions such as
    /// `user@` do not match.
    private func isOwn(_ host: String, port: Int) -> Bool {
        let host = host.lowercased()
        return Self.ownHosts.contains { host == "\($0):\(port)" || (port == 80 && host == $0) }
    }

    private func isFromOwnPage(_ request: Request, host: String) -> Bool {
        if let origin = request.headers[.origin], origin != "http://\(host)" { return false }
        guard let site = request.headers[.secFetchSite] else { return true }
        // A link to the page itself may come from any site.
        return site == "same-origin" || site == "none" || request.uri.path == "/"
    }

    private func refusal(_ status: HTTPResponse.Status, _ sentence: String) -> Response {
        Response(
            status: status, headers: [.contentType: "text/plain; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: sentence + "\n")))
    }

    private func harden(_ response: inout Response) {
        // Files from outside have a stricter policy of their own.
        if response.headers[.contentSecurityPolicy] == nil {
            response.headers[.contentSecurityPolicy] = Self.contentPolicy
        }
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.referrerPolicy] = "no-referrer"
        response.headers[.crossOriginResourcePolicy] = "same-origin"
        response.headers[.crossOriginOpenerPolicy] = "same-origin"
    }
}

extension HTTPField.Name {
    private static func named(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else {
            preconditionFailure("\(text) is not the name of a header field")
        }
        return name
    }

    static let host = named("Host")
    static let secFetchSite = named("Sec-Fetch-Site")
    static let referrerPolicy = named("Referrer-Policy")
    static let crossOriginResourcePolicy = named("Cross-Origin-Resource-Policy")
    static let crossOriginOpenerPolicy = named("Cross-Origin-Opener-Policy")
}
