// Apple documents that a wait for a queue ends when everything in the queue has finished. With
// Foundation on Linux, the wait does not include a barrier block if the queue was idle when the
// block was added, so the end of a program may lose the block.

import Foundation

let written = Operation()
let queue = OperationQueue()
queue.addBarrierBlock {
    Thread.sleep(forTimeInterval: 1)  // stands for work
    written.start()
}
queue.waitUntilAllOperationsAreFinished()
print("the file is written: \(written.isFinished)")

// With Foundation: the file is written: false
// With Operations:
// the file is written: true
