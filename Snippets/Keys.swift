// snippet.hide
// Keys
import Operations
import Synchronization

let fetches = Atomic<Int>(0)
@Sendable func fetch(_ url: String) async throws -> String {
    fetches.wrappingAdd(1, ordering: .relaxed)
    return "<\(url)>"
}
let queue = OperationQueue()
queue.isSuspended = true

// snippet.show
let url = "photo.jpg"
let first = queue.add(.deduplicated(by: url)) { try await fetch(url) }
let second = queue.add(.deduplicated(by: url)) { try await fetch(url) }  // returns `first`

let search = queue.add("sea", .coalesced(by: "search")) { "sea" }
let newer = queue.add("sepia", .coalesced(by: "search")) { "sepia" }  // cancels the earlier one

let account = Mutex(0)
for amount in 1...10 {
    // One operation at a time; two at a time.
    queue.add(.exclusive(by: "account")) { account.withLock { $0 += amount } }
    queue.add(.limited(to: 2, by: "host")) { try await fetch("page \(amount)") }
}
// snippet.hide
queue.isSuspended = false
// snippet.show
await queue.finished()
print(try first.result, first === second, try newer.result)
if let reason = search.cancellationReason { print(reason) }
print(fetches.load(ordering: .relaxed), "fetches, balance", account.withLock { $0 })
// snippet.hide

// Prints:
// <photo.jpg> true sepia
// 'sepia' took its place
// 11 fetches, balance 55
