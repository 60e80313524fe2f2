// snippet.hide
// The second program of the README: a limit, a rate, a retry, one at a time per file, a failure
import Operations
import Synchronization

struct NotFound: Error {}
let urls = ["a/index.html", "b/index.html", "a/image.jpg", "b/index.html?page=2"]
let saved = Mutex(0)
@Sendable func fetch(_ url: String) async throws -> String {
    if url.hasSuffix("jpg") { throw NotFound() }
    return "<\(url)>"
}
@Sendable func file(for url: String) -> String { String(url.prefix { $0 != "?" }) }
@Sendable func save(_ page: String, to file: String) throws { saved.withLock { $0 += 1 } }

// snippet.show
let queue = OperationQueue(name: "pages", width: 4)  // four at a time
let server = RateLimit(100, per: .seconds(1), burst: 5)  // a hundred a second, five at once

for url in urls {
    let file = file(for: url)
    let page = queue.add(url, .retry(3), .timeout(.seconds(5)), .rate(server)) {
        try await fetch(url)
    }
    queue.add(.exclusive(by: file), after: page) { page in try save(page, to: file) }
    queue.add(onFailureOf: page) { error in print("no \(url): \(error)") }
}
await queue.finished()
// snippet.hide
print(saved.withLock { $0 }, "saved")

// Prints:
// no a/image.jpg: NotFound()
// 3 saved
