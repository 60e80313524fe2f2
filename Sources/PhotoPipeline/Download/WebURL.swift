#if PhotoPipeline
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A URL that is valid for downloads by its text: http or https, with a host, and without a user
/// name or password.
struct WebURL: Hashable, Sendable {
    let url: URL
    let scheme: String
    /// The host without brackets, for lookups and messages.
    let host: String
    /// The port, or the default port of the scheme.
    let port: Int

    /// - Throws: a clause for people if the URL is not valid for downloads.
    init(_ url: URL) throws(PhotoURLProblem) {
        try PhotoURL.checkWeb(url, as: url.absoluteString)
        let scheme = url.scheme?.lowercased() ?? ""
        guard scheme == "http" || scheme == "https" else {
            throw PhotoURLProblem(message: "the scheme \(quoted(scheme)) is not supported")
        }
        self.url = url
        self.scheme = scheme
        let host = url.host(percentEncoded: false) ?? ""
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = url.port ?? (scheme == "https" ? 443 : 80)
    }

    /// The URL that a redirection leads to.
    ///
    /// - Throws: a clause for people if the redirection must not be followed.
    func redirected(to location: String) throws(PhotoURLProblem) -> WebURL {
        let target = try WebURL(PhotoURL.resolve(location, relativeTo: url))
        guard scheme == "http" || target.scheme == "https" else {
            throw PhotoURLProblem(
                message: "the target uses http instead of https, which is not secure; "
                    + "use a URL that stays on https")
        }
        return target
    }

    /// The host and port, the key for counting simultaneous downloads.
    var origin: String { "\(AllowedHost.normalized(host)):\(port)" }
}
#endif
