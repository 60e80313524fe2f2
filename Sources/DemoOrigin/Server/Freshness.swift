import Foundation
import Hummingbird

/// What tells caches that a picture is the one they have.
struct Freshness {
    /// A name for exactly these bytes: pictures are a function of index and size.
    let tag: String
    /// When the picture was "taken".
    let modified: String

    init(_ picture: DemoPicture) {
        // To be raised when the painters change, so that caches of earlier versions let go.
        let edition = 1
        tag = "\"demo-\(edition)-\(picture.index)-\(picture.width)x\(picture.height)\""
        // The day of the tutorial that this demo remembers, and a quarter of an hour a picture.
        modified = Self.httpDate(1_422_981_660 + picture.index * 900)
    }

    /// The date in the form HTTP wants (RFC 9110, 5.6.7).
    static func httpDate(_ seconds: Int) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: Date(timeIntervalSince1970: TimeInterval(seconds)))
    }

    /// Whether the client already has this picture (RFC 9110, 13.1: the tag decides if there is one).
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
