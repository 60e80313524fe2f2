// Apple documents that a queue invokes operations by priority and readiness. Foundation on Linux
// hands the ready operations of a queue without a width to Dispatch in the order in which they were
// added, so an urgent operation runs after all others, even if none of them has started.

import Foundation

let processors = ProcessInfo.processInfo.activeProcessorCount
let (gates, began) = ((0..<processors).map { _ in Operation() }, DispatchSemaphore(value: 0))
let queue = OperationQueue()
for gate in gates {
    queue.addOperation {
        began.signal()
        while !gate.isFinished {}
    }
    began.wait()
}
let normal = BlockOperation {}
let urgent = BlockOperation { print("the urgent operation is first: \(!normal.isFinished)") }
urgent.queuePriority = .veryHigh
queue.addOperation(normal)
queue.addOperation(urgent)
gates[0].start()
urgent.waitUntilFinished()
for gate in gates { gate.start() }

// With Foundation: the urgent operation is first: false
// With Operations:
// the urgent operation is first: true
