// Apple documents that operations added after a barrier block do not start until the block has
// completed. Foundation on Linux runs the barrier block of an idle queue on another dispatch queue
// than the operations, if the queue has an `underlyingQueue`.

import Foundation

let files = DispatchQueue(label: "files", attributes: .concurrent)
let queue = OperationQueue()
queue.underlyingQueue = files
let read = DispatchSemaphore(value: 0)
let written = DispatchSemaphore(value: 0)
queue.addBarrierBlock {
    print("read during the barrier: \(read.wait(timeout: .now() + 2) == .success)")
    written.signal()
}
queue.addOperation { read.signal() }
written.wait()

// With Foundation: read during the barrier: true
// With Operations:
// read during the barrier: false
