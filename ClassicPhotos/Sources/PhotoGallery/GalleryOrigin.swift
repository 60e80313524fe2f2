/// An address under which browsers see a gallery: a scheme, a host and perhaps a port, as browsers
/// write it into the header `Origin`.
public struct GalleryOrigin: Sendable, Hashable, CustomStringConvertible {
    let scheme: String
    /// The host and the port, in lower case, without the usual port of the scheme.
    let authority: String

    /// The text, as in `https://photos.example.org`.
    public var description: String { "\(scheme)://\(authority)" }

    /// Reads an origin; nil if the text is something else, also if it has a path.
    public init?(_ text: String) {
        let text = text.lowercased()
        for (scheme, port) in [("https", ":443"), ("http", ":80")] {
            let start = scheme + "://"
            guard text.hasPrefix(start) else { continue }
            var authority = text.dropFirst(start.count)
            if authority.hasSuffix("/") { authority = authority.dropLast() }
            guard GuardMiddleware.isHost(String(authority)) else { return nil }
            if authority.hasSuffix(port) { authority = authority.dropLast(port.count) }
            self.scheme = scheme
            self.authority = String(authority)
            return
        }
        return nil
    }

    /// Whether a request with this Host can come from this origin. The scheme is that of the
    /// browser's connection; a proxy may end an encrypted one.
    func hasHost(_ host: String) -> Bool { GalleryOrigin("\(scheme)://\(host)") == self }
}
