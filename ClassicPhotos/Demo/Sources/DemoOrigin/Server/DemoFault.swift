/// A faulty response that the origin serves under `/faults/…`, for tests of clients.
///
/// ``path`` gives the address and ``init(path:)`` parses it, so the two cannot drift apart. Sizes
/// are in bytes. Pictures are always served as `image/jpeg`.
public enum DemoFault: Sendable, Hashable {
    /// A chain of that many redirects (302), then a good picture.
    case redirects(Int)
    /// A redirect to itself.
    case redirectLoop
    /// A redirect to ``list``, which is in another folder.
    case movedList
    /// A text list with one photo at a relative address; the photo is that of ``none``.
    case list
    /// A body of zeros with a declared length.
    case huge(bytes: Int)
    /// A body of zeros in chunks, without a declared length, that ends after the given number of
    /// bytes.
    case endless(bytes: Int)
    /// A good picture of which `chunk` bytes are sent every `milliseconds`.
    case drip(chunk: Int, milliseconds: Int)
    /// A good picture whose connection closes after the given number of bytes of the body.
    case closeEarly(after: Int)
    /// A status such as 429 or 503 with `Retry-After` in seconds, sent `failures` times for each
    /// `key`; then a good picture.
    case flaky(status: Int, failures: Int, retryAfter: Int, key: String)
    /// The given status every time, with a short text.
    case status(Int)
    /// HTML under a photo's name.
    case htmlPage
    /// An empty response with status 200.
    case empty
    /// A truncated picture; the declared length matches.
    case truncated
    /// Noise.
    case randomBytes
    /// A header that claims 50,000 × 50,000 pixels.
    case hugeHeader
    /// The server accepts the request but never responds.
    case neverAnswers
    /// No fault, for comparison; with `ETag`, `Last-Modified` and `Cache-Control`.
    case none

    /// The address, starting at the origin's root.
    public var path: String { "/faults/" + tail }

    private var tail: String {
        switch self {
        case .redirects(let hops): "redirects/\(hops)"
        case .redirectLoop: "redirect-loop"
        case .movedList: "moved-list"
        case .list: "lists/photos.txt"
        case .huge(let bytes): "huge/\(bytes)"
        case .endless(let bytes): "endless/\(bytes)"
        case .drip(let chunk, let milliseconds): "drip/\(chunk)/\(milliseconds)"
        case .closeEarly(let bytes): "close-early/\(bytes)"
        case .flaky(let status, let failures, let wait, let key):
            "flaky/\(status)/\(failures)/\(wait)/\(key)"
        case .status(let code): "status/\(code)"
        case .htmlPage: "html.jpg"
        case .empty: "empty.jpg"
        case .truncated: "truncated.jpg"
        case .randomBytes: "random.jpg"
        case .hugeHeader: "huge-header.jpg"
        case .neverAnswers: "never"
        case .none: "none.jpg"
        }
    }

    /// Parses an address; `nil` if it is not the address of a fault.
    public init?(path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 3, parts[0].isEmpty, parts[1] == "faults" else { return nil }
        if path == DemoFault.list.path {
            self = .list
            return
        }
        let numbers = parts.dropFirst(3).map { Int($0) }
        if let fault = Self.plain(parts[2]), numbers.isEmpty {
            self = fault
            return
        }
        if parts[2] == "flaky", parts.count == 7, let status = numbers[0],
            let failures = numbers[1], let wait = numbers[2], (200...599).contains(status)
        {
            self = .flaky(status: status, failures: failures, retryAfter: wait, key: parts[6])
            return
        }
        guard let fault = Self.counted(parts[2], numbers.compactMap { $0 }), !numbers.contains(nil)
        else { return nil }
        self = fault
    }

    private static func plain(_ word: String) -> DemoFault? {
        let all: [DemoFault] = [
            .redirectLoop, .movedList, .htmlPage, .empty, .truncated, .randomBytes, .hugeHeader,
            .neverAnswers,
            .none,
        ]
        return all.first { $0.tail == word }
    }

    private static func counted(_ word: String, _ numbers: [Int]) -> DemoFault? {
        guard numbers.allSatisfy({ $0 >= 0 }) else { return nil }
        switch (word, numbers.count) {
        case ("redirects", 1): return .redirects(numbers[0])
        case ("huge", 1): return .huge(bytes: numbers[0])
        case ("endless", 1): return .endless(bytes: numbers[0])
        case ("drip", 2) where numbers[0] > 0:
            return .drip(chunk: numbers[0], milliseconds: numbers[1])
        case ("close-early", 1): return .closeEarly(after: numbers[0])
        case ("status", 1) where (200...599).contains(numbers[0]): return .status(numbers[0])
        default: return nil
        }
    }
}
