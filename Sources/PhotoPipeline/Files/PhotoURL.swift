#if PhotoPipeline
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The reason why a text is not the URL of a photo.
@_spi(ClassicPhotos) public struct PhotoURLProblem: Error, Equatable {
    /// The reason for people, as a clause without a period.
    public let message: String
}

/// The rules for the URLs of photos.
@_spi(ClassicPhotos) public enum PhotoURL {
    /// Converts a list's text to an absolute URL.
    public static func resolve(
        _ text: String, relativeTo baseURL: URL?
    ) throws(PhotoURLProblem) -> URL {
        let trimmed = trim(text)
        guard !trimmed.isEmpty else { throw PhotoURLProblem(message: "the URL is empty") }
        guard let url = URL(string: trimmed, relativeTo: baseURL)?.absoluteURL else {
            throw PhotoURLProblem(message: "\(quoted(trimmed)) is not a valid URL")
        }
        guard let scheme = url.scheme?.lowercased() else {
            throw PhotoURLProblem(
                message: "\(quoted(trimmed)) is a relative URL, but the address of the list is "
                    + "unknown; use an absolute URL")
        }
        switch scheme {
        case "http", "https": try checkWeb(url, as: trimmed)
        case "file": try checkFile(url, as: trimmed, relativeTo: baseURL)
        default:
            throw PhotoURLProblem(
                message: "\(quoted(trimmed)) has the unsupported scheme \(quoted(scheme)); "
                    + "use http or https")
        }
        return url
    }

    /// The name of a photo without a name in its list: the last component of the URL's path,
    /// otherwise the host.
    public static func name(of url: URL) -> String {
        if let bytes = nonUTF8Name(of: url) { return displayText(bytes) }
        let last = url.lastPathComponent
        return last.isEmpty || last == "/" ? url.host() ?? url.absoluteString : last
    }

    /// The last component of a URL's path if its bytes are not UTF-8, which URL decodes as empty.
    public static func nonUTF8Name(of url: URL) -> [UInt8]? {
        let path = url.path(percentEncoded: true)
        guard let last = path.split(separator: "/").last, last.contains("%") else { return nil }
        let bytes = percentDecoded(last)
        return String(validating: bytes, as: UTF8.self) == nil ? bytes : nil
    }

    /// Removes leading and trailing white space, which is common in typed lists.
    public static func trim(_ text: String) -> String {
        guard let first = text.firstIndex(where: { !$0.isWhitespace }),
            let last = text.lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(text[first...last])
    }

    /// Checks the text of an http or https URL.
    ///
    /// - Parameter text: the URL's name in messages.
    static func checkWeb(_ url: URL, as text: String) throws(PhotoURLProblem) {
        guard let host = url.host(), !host.isEmpty else {
            throw PhotoURLProblem(message: "\(quoted(text)) has no host")
        }
        guard !host.contains("%") else {
            throw PhotoURLProblem(
                message: "\(quoted(text)) has a host name with invalid characters; "
                    + "write international names in their xn-- form")
        }
        if let port = url.port, !(1...65_535).contains(port) {
            throw PhotoURLProblem(
                message: "\(quoted(text)) has a port outside the range 1 to 65535")
        }
        guard url.user() == nil, url.password() == nil else {
            // The message omits the text: a password must not appear on a screen or in a log.
            throw PhotoURLProblem(
                message:
                    "the URL for \(quoted(host)) contains a user name or password, which are not "
                    + "supported; remove them")
        }
    }

    private static func checkFile(
        _ url: URL, as text: String, relativeTo baseURL: URL?
    ) throws(PhotoURLProblem) {
        guard let baseURL, baseURL.isFileURL else {
            throw PhotoURLProblem(
                message: "\(quoted(text)) is a file URL, which only a local list may contain; "
                    + "use http or https")
        }
        let host = url.host() ?? ""
        guard host.isEmpty || host == "localhost", url.path().hasPrefix("/") else {
            throw PhotoURLProblem(
                message: "\(quoted(text)) does not name a file on this machine; use file:///path")
        }
    }
}
#endif
