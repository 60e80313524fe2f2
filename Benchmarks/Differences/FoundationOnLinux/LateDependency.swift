// Apple documents that an operation with an unfinished dependency is not ready, unless it already
// executes. Foundation on Linux hands all ready operations of a queue without a width to Dispatch
// at once, and ignores dependencies that are added later.

import Foundation

let (gate, download, began) = (Operation(), Operation(), DispatchSemaphore(value: 0))
let queue = OperationQueue()
for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
    queue.addOperation {
        began.signal()
        while !gate.isFinished {}
    }
    began.wait()
}
let decoded = DispatchSemaphore(value: 0)
let decode = BlockOperation {
    print("decodes after the download: \(download.isFinished)")
    decoded.signal()
}
queue.addOperation(decode)
decode.addDependency(download)
gate.start()
_ = decoded.wait(timeout: .now() + 2)
queue.addOperation(download)
decode.waitUntilFinished()

// With Foundation: decodes after the download: false
// With Operations:
// decodes after the download: true
