// Apple documents that `queuePriority` influences the order of operations, and that it can be set.
// Foundation on Linux loses a priority that is set after an operation with a quality of service was
// added to a serial queue.

import Foundation

let queue = OperationQueue()
queue.maxConcurrentOperationCount = 1
queue.isSuspended = true
let first = BlockOperation {}
let urgent = BlockOperation { print("the urgent operation is first: \(!first.isFinished)") }
urgent.qualityOfService = .utility
queue.addOperations([first, urgent], waitUntilFinished: false)
urgent.queuePriority = .veryHigh
queue.isSuspended = false
queue.waitUntilAllOperationsAreFinished()

// With Foundation: the urgent operation is first: false
// With Operations:
// the urgent operation is first: true
