// snippet.hide
// Rate limits
import Operations
import Synchronization

struct TooManyRequests: Error { let retryAfter: Duration }
let requests = Atomic(0)
@Sendable func fetch(_ page: Int) async throws -> Int {
    // The server has had enough once.
    if requests.wrappingAdd(1, ordering: .relaxed).newValue == 3 {
        throw TooManyRequests(retryAfter: .milliseconds(50))
    }
    return page
}

// snippet.show
// A hundred requests a second, of which five may start at once.
let server = RateLimit(100, per: .seconds(1), burst: 5, name: "server")
let queue = OperationQueue()

let pages = (1...10).map { number in
    queue.add(
        "page \(number)", .rate(server),
        // An answer 429 holds back all of them, not only the one that was refused.
        .retry(3, backoff: .none) { error in
            guard let busy = error as? TooManyRequests else { return .stop }
            return .retry(after: busy.retryAfter, closing: server)
        }
    ) {
        try await fetch(number)
    }
}
print(try await pages.values())
// snippet.hide
print(requests.load(ordering: .relaxed), "requests")

// Prints:
// [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
// 11 requests
