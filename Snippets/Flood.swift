// 19. A flood (back-pressure)
import Operations
import Synchronization

let lines = (1...10_000).lazy.map { "line \($0)" }
let indexed = Atomic<Int>(0)
@Sendable func index(_ line: String) async throws { indexed.add(1, ordering: .relaxed) }
let queue = OperationQueue()

// snippet.show
try await queue.add(each: lines, within: 100) { line in try await index(line) }
// snippet.hide
print(indexed.load(ordering: .relaxed))

// Prints:
// 10000
