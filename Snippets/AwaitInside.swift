// snippet.hide
// Waiting for an async function in an operation
import Operations

func fetch(_ name: String) async throws -> String {
    try await Task.sleep(for: .milliseconds(10))
    return "<\(name)>"
}

// snippet.show
let queue = OperationQueue(width: 2)  // async bodies keep their slots until they return

queue.add("feed") {
    let feed = try await fetch("feed.xml")
    print("got \(feed)")
}
await queue.finished()
// snippet.hide

// Prints:
// got <feed.xml>
