import HTTPTypes
import Hummingbird

/// Who may ask, and what browsers are told about the answers.
///
/// The server listens on loopback, yet any page that a browser on this machine has open can send
/// requests here, and by a name that it controls (DNS rebinding) even read the answers. Hence:
///
/// - the Host must be this machine's own name or address;
/// - a request from a browser must come from this server's own page (`Sec-Fetch-Site`), and one that
///   changes something must not carry another Origin;
/// - pages load nothing from elsewhere and run no inline script, and nobody may frame them.
struct GuardMiddleware: RouterMiddleware {
    typealias Context = BasicRequestContext

    private static let ownHosts: Set<String> = ["localhost", "127.0.0.1", "[::1]"]

    private static let contentPolicy = [
        "default-src 'none'", "img-src 'self'", "script-src 'self'", "style-src 'self'",
        "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    func handle(
        _ request: Request, context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard let host = request.head.authority, Self.ownHosts.contains(Self.name(of: host)) else {
            return refusal("Open this gallery by its own address, http://localhost and its port.")
        }
        guard isFromOwnPage(request, host: host) else {
            return refusal("Only this gallery's own page may do that.")
        }
        var response: Response
        do {
            response = try await next(request, context)
        } catch let error as any HTTPResponseError {
            // Thrown errors would otherwise leave without the headers below.
            response = try error.response(from: request, context: context)
        }
        harden(&response)
        return response
    }

    private func isFromOwnPage(_ request: Request, host: String) -> Bool {
        if let origin = request.headers[.origin], origin != "http://\(host)" { return false }
        guard let site = request.headers[.secFetchSite] else { return true }
        // Somebody may follow a link to the page itself from anywhere.
        return site == "same-origin" || site == "none" || request.uri.path == "/"
    }

    private func refusal(_ sentence: String) -> Response {
        var response = Response(
            status: .forbidden, headers: [.contentType: "text/plain; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: sentence + "\n")))
        harden(&response)
        return response
    }

    private func harden(_ response: inout Response) {
        response.headers[.contentSecurityPolicy] = Self.contentPolicy
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.referrerPolicy] = "no-referrer"
        response.headers[.crossOriginResourcePolicy] = "same-origin"
        response.headers[.crossOriginOpenerPolicy] = "same-origin"
    }

    /// The host without its port.
    private static func name(of authority: String) -> String {
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            return String(authority[...end])
        }
        return String(authority.prefix { $0 != ":" }).lowercased()
    }
}

extension HTTPField.Name {
    private static func named(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else {
            preconditionFailure("\(text) is no name of a header field")
        }
        return name
    }

    static let secFetchSite = named("Sec-Fetch-Site")
    static let referrerPolicy = named("Referrer-Policy")
    static let crossOriginResourcePolicy = named("Cross-Origin-Resource-Policy")
    static let crossOriginOpenerPolicy = named("Cross-Origin-Opener-Policy")
}
