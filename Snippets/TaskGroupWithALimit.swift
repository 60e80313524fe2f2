// snippet.hide
// A task group with a limit
import Operations

let urls = ["a.html", "index.html", "b.html"]
func fetch(_ url: String) async throws -> Int {
    try await Task.sleep(for: .milliseconds(url.count))
    return url.count
}

// snippet.show
let pages = try await urls.concurrentMap(width: 8) { url in
    try await fetch(url)
}
// snippet.hide
print(pages)

// Prints:
// [6, 10, 6]
