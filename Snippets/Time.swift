// snippet.hide
// Delays, time limits and retries
import Operations
import Synchronization

struct Busy: Error {}

let attempts = Atomic<Int>(0)
@Sendable func fetch(_ name: String) async throws -> String {
    if attempts.wrappingAdd(1, ordering: .relaxed).newValue < 3 { throw Busy() }
    return "<\(name)>"
}

// snippet.show
let queue = OperationQueue()

let feed = queue.add(
    "feed", .timeout(.seconds(5)),
    .retry(3, backoff: .exponential(from: .milliseconds(1))) { $0 is Busy }
) {
    try await fetch("feed.xml")
}
print(try await feed.value)

let slow = queue.add("slow", .timeout(.milliseconds(10))) {
    try await Task.sleep(for: .seconds(3600))
}
do { try await slow.value } catch { print(error) }

queue.add(.delay(.milliseconds(20))) { print("later") }
queue.add(.deadline(in: .seconds(10))) { print("before those with a later deadline") }
await queue.finished()
// snippet.hide

// Prints:
// <feed.xml>
// 'slow' took longer than 10 ms
// before those with a later deadline
// later
