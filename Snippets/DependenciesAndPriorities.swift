// snippet.hide
// Dependencies, then priorities, then the order of addition.
import Operations

// snippet.show
let queue = OperationQueue()
queue.maxConcurrentOperationCount = 1
queue.isSuspended = true  // until all operations are added

let sketch = BlockOperation { print("sketch") }
let paint = BlockOperation { print("paint") }
paint.addDependency(sketch)  // stronger than any priority
paint.queuePriority = .veryHigh
queue.addOperation(paint)
queue.addOperation(sketch)

queue.add("tidy", .priority(.high)) { print("tidy up") }
queue.addBarrierBlock { print("all of that is done") }
queue.add { print("frame") }

queue.isSuspended = false
await queue.finished()
// snippet.hide

// Prints:
// tidy up
// sketch
// paint
// all of that is done
// frame
