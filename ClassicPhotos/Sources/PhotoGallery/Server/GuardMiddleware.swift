import HTTPTypes
import Hummingbird
import NIOCore

/// Checks requests and sets the security headers of responses.
///
/// By default, the server listens on loopback. Nevertheless, any page in a browser on this machine
/// can send requests here, and with a name that the page controls (DNS rebinding) it can even read
/// the responses. Therefore:
///
/// - A request must have exactly one Host. Without a token, it is this machine's own name or
///   address with this server's port.
/// - A request from a browser must come from this server's own page (`Sec-Fetch-Site`), and a
///   request that changes state must not have a different Origin. The origin has the host of the
///   request, with `http` or with `https`: a proxy may encrypt the connection to the browser. Or it
///   is one that the person has named, for a proxy that gives requests another Host.
/// - If the server has a token, a request must have it: as a bearer token, or in the cookie that
///   the server sets when a person opens the address with the token. Such a server has many names,
///   and a request with the token may have any of them.
/// - Pages load no external resources, run no inline scripts, and cannot be framed.
///
/// The page `ClassicPhotos/Security.md` says why this suffices.
struct GuardMiddleware: RouterMiddleware {
    typealias Context = GalleryRequestContext

    /// The name or address on which the server listens.
    let host: String
    /// The secret that requests must have; nil for none.
    let token: GalleryToken?
    /// The origins that the person has named.
    var origins: [GalleryOrigin] = []

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
        let proof = proof(in: request, context)
        guard let host = request.head.authority,
            isOwn(host, port: context.port) || (proof.isValid && Self.isHost(host))
        else {
            if token != nil { return unauthorized() }
            return refusal(
                .forbidden,
                "Open this gallery at its own address, http://localhost:\(context.port)/")
        }
        guard isFromOwnPage(request, host: host) else {
            return refusal(.forbidden, "Only the gallery's own page can send this request.")
        }
        if token != nil {
            switch proof {
            case .address(let cookie): return cookie
            case .sent: break
            case .missing where request.uri.path == "/health": break
            case .missing: return unauthorized()
            }
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

    /// Whether the host is certainly this machine. The whole text is compared, so that additions
    /// such as `user@` do not match.
    private func isOwn(_ host: String, port: Int) -> Bool {
        let host = host.lowercased()
        if Self.ownHosts.contains(where: { host == "\($0):\(port)" || (port == 80 && host == $0) })
        {
            return true
        }
        if origins.contains(where: { $0.hasHost(host) }) { return true }
        // The port may be that of a container's host.
        guard token != nil, let name = Self.name(in: host) else { return false }
        return Self.ownHosts.contains(String(name)) || name == self.host.lowercased()
            || Self.isAddress(name)
    }

    /// Whether the text has the form of a Host: a name or an address, and perhaps a port.
    static func isHost(_ host: String) -> Bool {
        guard let name = name(in: host), !name.isEmpty else { return false }
        let letters = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return letters || isAddress(name)
    }

    /// The name or address in a Host; nil if something else than a port follows it.
    private static func name(in host: String) -> Substring? {
        let end =
            host.hasPrefix("[")
            ? host.firstIndex(of: "]").map { host.index(after: $0) } : host.firstIndex(of: ":")
        let place = end ?? host.endIndex
        let rest = host[place...]
        guard rest.isEmpty || (rest.hasPrefix(":") && UInt16(rest.dropFirst()) != nil) else {
            return nil
        }
        return host[..<place]
    }

    private static func isAddress(_ name: Substring) -> Bool {
        let address =
            name.hasPrefix("[") && name.hasSuffix("]") ? name.dropFirst().dropLast() : name
        return (try? SocketAddress(ipAddress: String(address), port: 0)) != nil
    }

    // MARK: The token

    /// How a request proves that its sender knows the token.
    private enum Proof {
        case missing
        /// In the address that a person opened; the response sets the cookie.
        case address(Response)
        /// In the cookie, or as a bearer token.
        case sent

        var isValid: Bool { if case .missing = self { false } else { true } }
    }

    private func proof(in request: Request, _ context: Context) -> Proof {
        guard let token else { return .missing }
        let cookie = "classicphotos-\(context.port)"
        // The redirection removes the token from the address, so that it does not remain in the
        // browser's address bar.
        if request.uri.path == "/", let text = request.uri.queryParameters.get("token"),
            token.matches(text)
        {
            return .address(
                Response(
                    status: .seeOther,
                    headers: [
                        .location: "/", .cacheControl: "no-store",
                        // Lax: a link in another site's page brings the cookie, and nothing else
                        // that another site sends does.
                        .setCookie: "\(cookie)=\(token.text); Path=/; HttpOnly; SameSite=Lax",
                    ]))
        }
        let pairs = request.headers[values: .cookie].flatMap { $0.split(separator: ";") }
        let hasCookie = pairs.contains { pair in
            let pair = pair.drop { $0 == " " }
            return pair.hasPrefix(cookie + "=") && token.matches(pair.dropFirst(cookie.count + 1))
        }
        let bearer = "Bearer "
        let authorization = request.headers[.authorization] ?? ""
        let hasBearer =
            authorization.hasPrefix(bearer)
            && token.matches(authorization.dropFirst(bearer.count))
        return hasCookie || hasBearer ? .sent : .missing
    }

    private func unauthorized() -> Response {
        var response = refusal(
            .unauthorized,
            "Open the address that the program printed when it started; it contains a token. "
                + "Any other name or address of that machine may stand in its place.")
        response.headers[.wwwAuthenticate] = "Bearer"
        return response
    }

    private func isFromOwnPage(_ request: Request, host: String) -> Bool {
        if let text = request.headers[.origin] {
            guard let origin = GalleryOrigin(text),
                origin.hasHost(host) || origins.contains(origin)
            else { return false }
        }
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
        // The pages of a dashboard have forms, and browsers say where a form comes from only to a
        // page with a policy of its own.
        if response.headers[.referrerPolicy] == nil {
            response.headers[.referrerPolicy] = "no-referrer"
        }
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
    static let lastEventID = named("Last-Event-ID")
    static let secFetchSite = named("Sec-Fetch-Site")
    static let referrerPolicy = named("Referrer-Policy")
    static let crossOriginResourcePolicy = named("Cross-Origin-Resource-Policy")
    static let crossOriginOpenerPolicy = named("Cross-Origin-Opener-Policy")
}
