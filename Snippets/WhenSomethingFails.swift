// snippet.hide
// Reacting to a failure
import Operations

struct NoConnection: Error, CustomStringConvertible {
    var description: String { "no connection" }
}

func send(_ report: String) async throws -> Int { throw NoConnection() }

let queue = OperationQueue()
queue.maxConcurrentOperationCount = 1
queue.isSuspended = true

// snippet.show
let upload = queue.add("upload") { try await send("report") }
let receipt = queue.add("receipt", after: upload) { id in print("sent as \(id)") }

let cleanUp = BlockOperation { print("removing the draft") }
cleanUp.addDependency(upload, on: .failure)
let log = BlockOperation { print("done, one way or the other") }
log.addDependency(cleanUp)  // always, as in Foundation
queue.addOperation(cleanUp)
queue.addOperation(log)

// snippet.hide
queue.isSuspended = false
// snippet.show
await queue.finished()
if let reason = receipt.cancellationReason { print(reason) }
// snippet.hide

// Prints:
// removing the draft
// done, one way or the other
// 'upload' failed: no connection
