// Apple documents that a cancelled operation leaves its queue before its dependencies have
// finished, and the queue then releases it. With Foundation on Linux, a dependency refers to
// dependents that no longer exist, and crashes when it finishes.

import Foundation

let login = BlockOperation {}
let queue = OperationQueue()
for _ in 0..<1_000 {
    let download = BlockOperation {}
    download.addDependency(login)
    queue.addOperation(download)
    download.cancel()
}
queue.waitUntilAllOperationsAreFinished()
queue.addOperations([login], waitUntilFinished: true)
print("the login has finished")

// With Foundation: crashes
// With Operations:
// the login has finished
