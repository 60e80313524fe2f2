// snippet.hide
// Adding more than memory holds
import Operations
import Synchronization

let lines = (1...10_000).lazy.map { "line \($0)" }
let indexed = Atomic<Int>(0)
@Sendable func index(_ line: String) async throws { indexed.add(1, ordering: .relaxed) }
let queue = OperationQueue()

// snippet.show
try await queue.add(each: lines, capacity: 100) { line in try await index(line) }

let page = try await queue.add(capacity: 100) { "rendered" }  // waits for capacity, then adds
print(indexed.load(ordering: .relaxed), try await page.value)
// snippet.hide

// Prints:
// 10000 rendered
