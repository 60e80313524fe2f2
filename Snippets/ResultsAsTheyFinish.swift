// snippet.hide
// Results as they finish
import Operations

let urls = ["slow.jpg", "b.jpg", "c.jpg"]
func decode(_ url: String) async throws -> Int {
    try await Task.sleep(for: .milliseconds(url == "slow.jpg" ? 200 : 1))
    return url.count
}
var last = ""

// snippet.show
for try await (url, size) in urls.concurrentResults(width: 2, { try await decode($0) }) {
    last = "\(url) has \(size) letters"  // in the order in which the work ends
}
print(last)

// The first result is enough: the rest is cancelled, and has ended after this statement.
let first = try await urls.concurrentResults(width: 3) {
    try await decode($0)
} consume: {
    results in
    for try await (_, size) in results { return size }
    return 0
}
print(first)
// snippet.hide

// Prints:
// slow.jpg has 8 letters
// 5
