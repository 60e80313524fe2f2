// Apple documents that a suspended queue starts no queued operation. Foundation on Linux has handed
// the ready operations of a queue without a width to Dispatch, and starts them all the same.

import Foundation

let (gate, began) = (Operation(), DispatchSemaphore(value: 0))
let queue = OperationQueue()
for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
    queue.addOperation {
        began.signal()
        while !gate.isFinished {}
    }
    began.wait()
}
let uploads = DispatchSemaphore(value: 0)
queue.addOperation { uploads.signal() }
queue.isSuspended = true
gate.start()
print("an upload starts: \(uploads.wait(timeout: .now() + 2) == .success)")

// With Foundation: an upload starts: true
// With Operations:
// an upload starts: false
