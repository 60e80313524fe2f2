// Apple documents that a queue that is not suspended actively starts operations that are ready.
// With Foundation on Linux, each operation that blocks delays those of every other queue by about a
// second, because Dispatch adds one thread each second.

import Foundation

let count = ProcessInfo.processInfo.activeProcessorCount + 30
let message = DispatchSemaphore(value: 0)
let readers = OperationQueue()
for _ in 0..<count { readers.addOperation { message.wait() } }
let writers = OperationQueue()
writers.addOperation { for _ in 0..<count { message.signal() } }
readers.waitUntilAllOperationsAreFinished()
print("every reader has its message")

// With Foundation: does not end within 10 s
// With Operations:
// every reader has its message
