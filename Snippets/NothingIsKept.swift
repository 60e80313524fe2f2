// snippet.hide
// Chains that do not grow in memory
import Operations

// snippet.show
let queue = OperationQueue()
weak var first: Operation?

var latest = queue.add { 0 }
first = latest
for _ in 1...100_000 { latest = queue.add(after: latest) { $0 + 1 } }

print(try await latest.value)
print(first == nil ? "the first of them is gone" : "the first of them is still there")
// snippet.hide

// Prints:
// 100000
// the first of them is gone
