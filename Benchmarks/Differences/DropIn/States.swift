import Foundation

func states() {
    let held = Held()
    line("new", state(of: held))
    let queue = serialQueue()
    let completed = Door()
    let log = Log()
    held.completionBlock = { [unowned held] in
        log.write(state(of: held))
        completed.open()
    }
    let next = Operation()
    queue.addOperations([held, next], waitUntilFinished: false)
    held.began.wait()
    line("in main()", held.stateInMain)
    line("running, seen by others", state(of: held))
    line("behind one that runs", state(of: next))
    held.mayEnd.open()
    held.waitUntilFinished()
    line("after the end", state(of: held))
    completed.wait()
    line("in the completion block", log.words)
    queue.waitUntilAllOperationsAreFinished()
    line("the next one after its end", state(of: next))

    let cancelled = Held()
    queue.addOperation(cancelled)
    cancelled.began.wait()
    cancelled.cancel()
    line("cancelled while it runs", state(of: cancelled))
    cancelled.mayEnd.open()
    cancelled.waitUntilFinished()
    line("cancelled, after the end", state(of: cancelled))

    let unbegun = Operation()
    unbegun.cancel()
    line("cancelled, in no queue", state(of: unbegun))
    queue.addOperations([unbegun], waitUntilFinished: true)
    line("cancelled, added, after the end", state(of: unbegun))
}

/// An operation that counts the calls of its `main()`.
private final class Counted: Operation, @unchecked Sendable {
    var count = 0
    var stateInMain = ""

    override func main() {
        count += 1
        stateInMain = state(of: self)
    }
}

func starting() {
    let operation = Counted()
    operation.start()
    line("started by hand, in main()", operation.stateInMain)
    line("started by hand, after it", state(of: operation))
    operation.start()
    line("main() after a second start()", operation.count)
    line("state after a second start()", state(of: operation))

    let cancelled = Counted()
    cancelled.cancel()
    cancelled.start()
    line("main() of a cancelled operation", cancelled.count)
    line("a cancelled operation after start()", state(of: cancelled))

    let byHand = Counted()
    byHand.main()
    line("main() called by hand, in it", byHand.stateInMain)
    line("main() called by hand, after it", state(of: byHand))
    byHand.start()
    line("main() called by hand and then started", byHand.count)

    let completed = Door()
    let completing = Counted()
    completing.completionBlock = { completed.open() }
    completing.start()
    completed.wait()
    line("start() calls the completion block", true)

    let first = Counted()
    let second = Counted()
    second.addDependency(first)
    line("with a dependency", state(of: second))
    first.start()
    line("with a finished dependency", state(of: second))
    second.start()
    line("started after its dependency", second.count)

    let waiting = Counted()
    waiting.addDependency(Operation())
    waiting.cancel()
    waiting.start()
    line("cancelled before its dependency, after start()", state(of: waiting))
    line("main() of it", waiting.count)

    let added = Counted()
    added.start()
    let queue = OperationQueue()
    line("operations before the wait", queue.operationCount)
    added.waitUntilFinished()
    line("a wait for a finished operation returns", true)
    let thread = Thread.current
    let inStart = Log()
    let block = BlockOperation { inStart.write("\(Thread.current === thread)") }
    block.start()
    line("start() runs on the calling thread", inStart.words)
}
