// Apple documents that it is generally safe to wait for an operation of another queue. With
// Foundation on Linux, the waits occupy all threads, and what they wait for gets none.

import Foundation

let pages = OperationQueue()
let images = OperationQueue()
for _ in 0..<ProcessInfo.processInfo.activeProcessorCount + 30 {
    pages.addOperation {
        images.addOperations([BlockOperation {}], waitUntilFinished: true)
    }
}
pages.waitUntilAllOperationsAreFinished()
print("every page has its image")

// With Foundation: does not end within 10 s
// With Operations:
// every page has its image
