import Foundation
import Hummingbird
import Landscapes

/// The validators by which caches recognize a picture.
struct Freshness {
    /// An entity tag for exactly these bytes, which depend only on index and size.
    let tag: String
    /// The date at which the picture was "taken".
    let modified: String

    init(_ picture: Landscape) {
        // Increase this number when the painters change, to invalidate earlier caches.
        let edition = 1
        tag = "\"demo-\(edition)-\(picture.index)-\(picture.width)x\(picture.height)\""
        // The day of the original tutorial, plus a quarter of an hour for each picture.
        modified = Self.httpDate(1_422_981_660 + picture.index * 900)
    }

    /// The date in HTTP's format (RFC 9110, 5.6.7).
    static func httpDate(_ seconds: Int) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: Date(timeIntervalSince1970: TimeInterval(seconds)))
    }

    /// Whether the client already has this picture (RFC 9110, 13.1: a tag takes precedence over a
    /// date).
    func isKnown(to headers: HTTPFields) -> Bool {
        if let tags = headers[.ifNoneMatch] {
            return tags.split(separator: ",").contains { candidate in
                let name = candidate.drop { $0 == " " }.prefix { $0 != " " }
                return name == "*" || name == tag || name == "W/" + tag
            }
        }
        return headers[.ifModifiedSince] == modified
    }

    func stamp(_ response: Response) -> Response {
        var response = response
        response.headers[.eTag] = tag
        response.headers[.lastModified] = modified
        response.headers[.cacheControl] = "public, max-age=3600"
        return response
    }

    var notModified: Response { stamp(Response(status: .notModified)) }
}
