// snippet.hide
// Groups that take turns, and queues that drop what is too much
import Operations
import OperationsTestKit

let log = TestRecorder<String>()
let queue = OperationQueue(width: 1)
let frames = OperationQueue(width: 1)
queue.isSuspended = true
frames.isSuspended = true

// snippet.show
// Tenant a has many requests. Those of b and c need not wait behind all of them.
for tenant in ["a", "a", "a", "a", "b", "c"] {
    queue.add(.group(tenant)) { log.record(tenant) }
}

// Only the latest frames matter.
frames.overflow = .dropOldest(capacity: 2)
let shown = (1...4).map { number in frames.add("frame \(number)") { number } }
// snippet.hide

queue.isSuspended = false
frames.isSuspended = false
await queue.finished()
await frames.finished()
print(log.events.joined(separator: " "))
// snippet.show
for frame in shown {
    do {
        print(try await frame.value)
    } catch {
        print(error)
    }
}
// snippet.hide

// Prints:
// a b c a a a
// 'frame 1' was cancelled: its queue held 2 operations already
// 'frame 2' was cancelled: its queue held 2 operations already
// 3
// 4
