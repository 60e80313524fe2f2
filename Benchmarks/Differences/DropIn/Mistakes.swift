// Mistakes, each of which may end the program.

import Foundation

func dependsOnItself() {
    let operation = Operation()
    operation.addDependency(operation)
    line("accepted", true)
}

func startsBeforeItsDependency() {
    let operation = Operation()
    operation.addDependency(Operation())
    operation.start()
    line("accepted", true)
}

func startsWhileItRuns() {
    let held = Held()
    Thread.detachNewThread { held.start() }
    held.began.wait()
    held.start()
    line("accepted", true)
}

func isAddedTwice() {
    let (first, second) = (OperationQueue(), OperationQueue())
    first.isSuspended = true
    let operation = Operation()
    first.addOperation(operation)
    second.addOperation(operation)
    line("accepted", true)
}

func isAddedAfterItsEnd() {
    let operation = Operation()
    operation.start()
    OperationQueue().addOperation(operation)
    line("accepted", true)
}

func getsABlockAfterItsEnd() {
    let operation = BlockOperation {}
    operation.start()
    operation.addExecutionBlock {}
    line("accepted", true)
}

func getsABlockWhileItRuns() {
    let (began, mayEnd) = (Door(), Door())
    let operation = BlockOperation {
        began.open()
        mayEnd.wait()
    }
    OperationQueue().addOperation(operation)
    began.wait()
    operation.addExecutionBlock {}
    mayEnd.open()
    line("accepted", true)
}

func hasANegativeWidth() {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = -2
    line("width", queue.maxConcurrentOperationCount)
}
