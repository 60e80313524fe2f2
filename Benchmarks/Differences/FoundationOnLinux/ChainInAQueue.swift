// Apple documents no limit to the number of operations in a queue. Each time an operation ends,
// Foundation on Linux looks at all the operations that wait, so that the time of a chain grows with
// the square of its length.

import Foundation

let operations = (0..<30_000).map { _ in BlockOperation {} }
for (next, previous) in zip(operations.dropFirst(), operations) { next.addDependency(previous) }
OperationQueue().addOperations(operations, waitUntilFinished: true)
print("the chain has finished")

// With Foundation: does not end within 10 s
// With Operations:
// the chain has finished
