// snippet.hide
// Work that moves over from Dispatch
import Operations
import Synchronization

@Sendable func fetch(_ page: Int) async throws -> Int {
    try await Task.sleep(for: .milliseconds(page))
    return page
}
let painted = Atomic(0)
@Sendable func paint(_ row: Int) { painted.add(1, ordering: .relaxed) }

// snippet.show
// A serial queue: DispatchQueue(label: "log")
let log = OperationQueue(name: "log", width: 1, order: .fifo)
for number in 1...3 { log.addOperation { print("line \(number)") } }

// A semaphore as a limit, and a group: DispatchSemaphore(value: 4), DispatchGroup()
let downloads = OperationQueue(name: "downloads", width: 4)
let pages = (1...10).map { page in downloads.add { try await fetch(page) } }

// group.notify(queue: log) { … }
log.add("sum", after: pages) { pages in print("sum \(pages.reduce(0, +))") }
await log.finished()

// asyncAfter(deadline: .now() + 3600, execute: item), and item.cancel()
let late = downloads.add("late", .delay(.seconds(3_600))) { print("an hour later") }
late.cancel(because: "the user has logged out")

// async(flags: .barrier) { … }
downloads.addBarrierBlock { print("nothing else runs here") }
await downloads.finished()

// DispatchQueue.concurrentPerform(iterations: 100) { row in … }
try await (0..<100).concurrentForEach { row in paint(row) }
print("\(painted.load(ordering: .relaxed)) rows")

do { try await late.value } catch { print(error) }
// snippet.hide

// Prints:
// line 1
// line 2
// line 3
// sum 55
// nothing else runs here
// 100 rows
// 'late' was cancelled: the user has logged out
