import HTTPTypes
import Hummingbird
import NIOCore

/// A picture as a response: complete, in part, or "not modified".
///
/// The contents come from outside, so the response has a policy that forbids everything if somebody
/// opens it as a page.
struct FileResponse {
    /// How long a browser may use the response without asking again.
    enum Caching {
        /// The address names the contents, which never change.
        case immutable
        /// The contents may change; the browser asks with the entity tag.
        case revalidated
        /// The response must not be stored.
        case none

        fileprivate var header: String {
            switch self {
            case .immutable: "private, max-age=86400, immutable"
            case .revalidated: "private, no-cache"
            case .none: "no-store"
            }
        }
    }

    let bytes: [UInt8]
    let mediaType: String
    /// Changes whenever the bytes do; without quotation marks.
    let tag: String
    let caching: Caching
    /// The name under which a browser stores the file; nil for a picture to show.
    var downloadName: String?

    private static let policy = "default-src 'none'; sandbox"

    /// The response to a GET or HEAD request with its conditions and its range.
    func response(to request: Request) -> Response {
        let quoted = "\"\(tag)\""
        var headers: HTTPFields = [
            .eTag: quoted, .cacheControl: caching.header, .contentSecurityPolicy: Self.policy,
        ]
        if let known = request.headers[.ifNoneMatch], Self.list(known, contains: quoted) {
            return Response(status: .notModified, headers: headers)
        }
        headers[.contentType] = mediaType
        headers[.acceptRanges] = "bytes"
        if let downloadName { headers[.contentDisposition] = Self.attachment(downloadName) }
        let condition = request.headers[.ifRange]
        guard request.method == .get, condition == nil || condition == quoted,
            let range = request.headers[.range].flatMap({ Self.range($0, of: bytes.count) })
        else { return Response(status: .ok, headers: headers, body: body(bytes[...])) }
        guard !range.isEmpty else {
            headers[.contentRange] = "bytes */\(bytes.count)"
            headers[.contentType] = nil
            return Response(status: .rangeNotSatisfiable, headers: headers)
        }
        headers[.contentRange] =
            "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes.count)"
        return Response(status: .partialContent, headers: headers, body: body(bytes[range]))
    }

    private func body(_ bytes: ArraySlice<UInt8>) -> ResponseBody {
        ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
    }

    /// Whether a list of entity tags has the tag. The comparison is weak, as RFC 9110 13.1.2 says.
    static func list(_ list: String, contains tag: String) -> Bool {
        list.split(separator: ",").contains { item in
            let item = item.drop { $0 == " " }.prefix { $0 != " " }
            return item == "*" || item == tag || item == "W/" + tag
        }
    }

    /// The bytes that a `Range` header asks for: empty if the file has none of them, nil if the
    /// header is invalid or names several ranges, and therefore does not count.
    static func range(_ header: String, of count: Int) -> Range<Int>? {
        guard header.hasPrefix("bytes=") else { return nil }
        let ends = header.dropFirst("bytes=".count)
            .split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let isNumber: (Substring) -> Bool = { text in
            text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        guard ends.count == 2, ends.allSatisfy(isNumber) else { return nil }
        switch (Int(ends[0]), Int(ends[1])) {
        case (let first?, let last?):
            guard first <= last else { return nil }
            return first < count ? first..<(min(last, count - 1) + 1) : 0..<0
        case (let first?, nil):
            guard ends[1].isEmpty else { return nil }
            return first < count ? first..<count : 0..<0
        case (nil, let length?):
            guard ends[0].isEmpty else { return nil }
            return (count - min(length, count))..<count
        case (nil, nil): return nil
        }
    }

    /// A download under a name: the plain form for old clients and the form of RFC 8187.
    private static func attachment(_ name: String) -> String {
        let plain = name.unicodeScalars.map { scalar in
            scalar.isASCII && scalar.value >= 32 && scalar.value != 127
                && !"\"\\/%;".unicodeScalars.contains(scalar) ? String(scalar) : "_"
        }.joined()
        let unreserved = Set(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~".utf8)
        let encoded = name.utf8.map { byte -> String in
            if unreserved.contains(byte) { return String(Unicode.Scalar(byte)) }
            let digits = String(byte, radix: 16, uppercase: true)
            return "%" + (digits.count < 2 ? "0" : "") + digits
        }.joined()
        return "attachment; filename=\"\(plain)\"; filename*=UTF-8''\(encoded)"
    }
}
