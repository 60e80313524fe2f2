// Apple documents that a block operation executes its blocks at once. Foundation on Linux runs them
// one after the other, so a block that waits for the next one waits for ever.

import Foundation

let letter = DispatchSemaphore(value: 0)
let reader = BlockOperation { letter.wait() }
reader.addExecutionBlock { letter.signal() }
OperationQueue().addOperations([reader], waitUntilFinished: true)
print("both blocks have run")

// With Foundation: does not end within 10 s
// With Operations:
// both blocks have run
