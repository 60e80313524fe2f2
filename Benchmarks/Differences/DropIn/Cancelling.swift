import Foundation

func cancelling() {
    let log = Log()
    let queue = serialQueue()
    let held = Held()
    let second = Note("second", log)
    let third = Note("third", log)
    queue.addOperations([held, second, third], waitUntilFinished: false)
    held.began.wait()
    second.cancel()
    line("cancelled while it waits", second.isCancelled)
    held.mayEnd.open()
    queue.waitUntilAllOperationsAreFinished()
    line("runs the others", log.words)
    line("state of the cancelled one", state(of: second))

    let allLog = Log()
    let heldAgain = Held()
    let waiting = (0..<4).map { Note("\($0)", allLog) }
    queue.addOperation(heldAgain)
    queue.addOperations(waiting, waitUntilFinished: false)
    heldAgain.began.wait()
    queue.cancelAllOperations()
    line("all are cancelled", ([heldAgain] + waiting).allSatisfy { $0.isCancelled })
    line("the running one runs on", heldAgain.isExecuting)
    heldAgain.mayEnd.open()
    queue.waitUntilAllOperationsAreFinished()
    line("none has run", allLog.words)
    line("all have finished", waiting.allSatisfy { $0.isFinished })
    let afterAll = Note("next", allLog)
    queue.addOperations([afterAll], waitUntilFinished: true)
    line("added after it", allLog.words)

    let unmetLog = Log()
    let never = Operation()
    let unmet = Note("unmet", unmetLog)
    unmet.addDependency(never)
    queue.addOperation(unmet)
    line("with a dependency that never runs", state(of: unmet))
    unmet.cancel()
    unmet.waitUntilFinished()
    queue.waitUntilAllOperationsAreFinished()
    line("cancelled with a dependency that never runs", state(of: unmet))
    line("its main()", unmetLog.words)
    line("its dependencies", unmet.dependencies.count)

    let suspended = serialQueue(isSuspended: true)
    let inSuspended = Note("in a suspended queue", unmetLog)
    suspended.addOperation(inSuspended)
    inSuspended.cancel()
    line("state of one that is cancelled in a suspended queue", inSuspended.isCancelled)
    suspended.isSuspended = false
    suspended.waitUntilAllOperationsAreFinished()
    line("main() of it", unmetLog.words)

    let leaving = OperationQueue()
    leaving.isSuspended = true
    let left = DispatchSemaphore(value: 0)
    let leaves = Operation()
    leaves.completionBlock = { left.signal() }
    leaving.addOperation(leaves)
    leaves.cancel()
    line("ends in a suspended queue", left.wait(timeout: .now() + 1) == .success)
    leaving.isSuspended = false

    let twice = Operation()
    twice.cancel()
    twice.cancel()
    line("cancelled twice", state(of: twice))
    let over = Operation()
    over.start()
    over.cancel()
    line("cancelled after the end", state(of: over))

    let dependentLog = Log()
    let first = Note("first", dependentLog)
    let dependent = Note("dependent", dependentLog)
    dependent.addDependency(first)
    let paused = serialQueue(isSuspended: true)
    paused.addOperations([first, dependent], waitUntilFinished: false)
    first.cancel()
    line("a dependent is not cancelled", dependent.isCancelled)
    paused.isSuspended = false
    paused.waitUntilAllOperationsAreFinished()
    line("a dependent runs", dependentLog.words)

    let blockLog = Log()
    let began = Door()
    let mayEnd = Door()
    queue.addOperation {
        began.open()
        mayEnd.wait()
        blockLog.write("running")
    }
    queue.addOperation { blockLog.write("waiting") }
    began.wait()
    queue.cancelAllOperations()
    mayEnd.open()
    queue.waitUntilAllOperationsAreFinished()
    line("blocks of a cancelled queue", blockLog.words)
}

func completionBlocks() {
    let queue = OperationQueue()
    let log = Log()
    let completed = Door()
    let operation = Note("main", log)
    operation.completionBlock = { [unowned operation] in
        log.write(operation.isFinished ? "completed" : "early")
        completed.open()
    }
    queue.addOperation(operation)
    completed.wait()
    line("after main()", log.words)

    let cancelledLog = Log()
    let cancelledEnd = Door()
    let cancelled = Note("main", cancelledLog)
    cancelled.completionBlock = { [unowned cancelled] in
        cancelledLog.write(state(of: cancelled))
        cancelledEnd.open()
    }
    cancelled.cancel()
    line("not called by cancel()", cancelledLog.words)
    queue.addOperation(cancelled)
    cancelledEnd.wait()
    line("of a cancelled operation", cancelledLog.words)

    line("kept after its call", cancelled.completionBlock != nil)

    let replacedLog = Log()
    let replacedEnd = Door()
    let replaced = Operation()
    replaced.completionBlock = { replacedLog.write("first") }
    replaced.completionBlock = {
        replacedLog.write("second")
        replacedEnd.open()
    }
    queue.addOperation(replaced)
    replacedEnd.wait()
    line("the last one that was set", replacedLog.words)

    let removedLog = Log()
    let removed = Operation()
    removed.completionBlock = { removedLog.write("called") }
    removed.completionBlock = nil
    queue.addOperations([removed], waitUntilFinished: true)
    line("removed before the end", removedLog.words)

    // Each completion block starts the next operation, as chains without dependencies do.
    let chainLog = Log()
    let chainEnd = Door()
    let second = Note("second", chainLog)
    second.completionBlock = { chainEnd.open() }
    let first = Note("first", chainLog)
    first.completionBlock = {
        chainLog.write("between")
        queue.addOperation(second)
    }
    queue.addOperation(first)
    chainEnd.wait()
    line("adds the next operation", chainLog.words)

    let waitLog = Log()
    let waitEnd = Door()
    let waited = Note("main", waitLog)
    waited.completionBlock = { [unowned waited] in
        waited.waitUntilFinished()
        waitLog.write("waited")
        waitEnd.open()
    }
    queue.addOperation(waited)
    waitEnd.wait()
    line("waits for its own operation", waitLog.words)
}
