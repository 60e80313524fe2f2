import FoundationEssentials

/// A URL from which something may be fetched, as far as its letters tell: http or https, with a host, and
/// without a user name or password.
struct WebURL: Hashable, Sendable {
    let url: URL
    let scheme: String
    /// The host without brackets, as it is looked up and as messages name it.
    let host: String
    /// The port, which is the scheme's own if the URL names none.
    let port: Int

    /// - Throws: a clause for people if the URL is none of these.
    init(_ url: URL) throws(PhotoURLProblem) {
        try PhotoURL.checkWeb(url, as: url.absoluteString)
        let scheme = url.scheme?.lowercased() ?? ""
        guard scheme == "http" || scheme == "https" else {
            throw PhotoURLProblem(sentence: "nothing can be fetched by \(quoted(scheme))")
        }
        self.url = url
        self.scheme = scheme
        let host = url.host(percentEncoded: false) ?? ""
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = url.port ?? (scheme == "https" ? 443 : 80)
    }

    /// The URL that a redirection names.
    ///
    /// - Throws: a clause for people if it must not be followed.
    func redirected(to location: String) throws(PhotoURLProblem) -> WebURL {
        let target = try WebURL(PhotoURL.resolve(location, relativeTo: url))
        guard scheme == "http" || target.scheme == "https" else {
            throw PhotoURLProblem(
                sentence: "from https to http, which is not safe; use a URL that stays with https")
        }
        return target
    }

    /// The host and port, by which simultaneous downloads are counted.
    var origin: String { "\(AllowedHost.plain(host)):\(port)" }
}
