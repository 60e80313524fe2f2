import Foundation

func waiting() {
    let queue = OperationQueue()
    let log = Log()
    queue.addOperations([Note("a", log), Note("b", log)], waitUntilFinished: true)
    line("addOperations that waits", log.sorted)
    queue.waitUntilAllOperationsAreFinished()
    line("counted after a wait for the queue", queue.operationCount)
    queue.addOperations([], waitUntilFinished: true)
    line("no operations", queue.operationCount)
    OperationQueue().waitUntilAllOperationsAreFinished()
    line("a wait for an empty queue returns", true)

    let held = Held()
    let waited = Log()
    let done = Door()
    queue.addOperation(held)
    held.began.wait()
    Thread.detachNewThread {
        held.waitUntilFinished()
        waited.write(state(of: held))
        done.open()
    }
    held.mayEnd.open()
    done.wait()
    line("another thread waits", waited.words)

    let cancelled = Operation()
    cancelled.cancel()
    queue.addOperation(cancelled)
    cancelled.waitUntilFinished()
    line("a wait for a cancelled operation", state(of: cancelled))

    let nestedLog = Log()
    let inner = OperationQueue()
    queue.addOperation {
        inner.addOperations([Note("inner", nestedLog)], waitUntilFinished: true)
        nestedLog.write("outer")
    }
    queue.waitUntilAllOperationsAreFinished()
    line("an operation waits for another queue", nestedLog.words)

    let addingLog = Log()
    queue.addOperation {
        queue.addOperation { addingLog.write("added inside") }
    }
    queue.waitUntilAllOperationsAreFinished()
    line("a wait includes what operations add", addingLog.words)

    let released = Door()
    final class Counted: Operation, @unchecked Sendable {
        let released: Door
        init(_ released: Door) { self.released = released }
        deinit { released.open() }
    }
    queue.addOperation(Counted(released))
    released.wait()
    line("an operation is released after its end", true)
}

func currentQueue() {
    line("at the top level, the main queue", OperationQueue.current === OperationQueue.main)
    let queue = OperationQueue()
    let log = Log()
    queue.addOperation { log.write("\(OperationQueue.current === queue)") }
    queue.waitUntilAllOperationsAreFinished()
    line("in a block", log.words)

    let inner = OperationQueue()
    let nested = Log()
    queue.addOperation {
        let operation = BlockOperation { nested.write("\(OperationQueue.current === inner)") }
        inner.addOperations([operation], waitUntilFinished: true)
        nested.write("\(OperationQueue.current === queue)")
    }
    queue.waitUntilAllOperationsAreFinished()
    line("inside another one", nested.words)

    let barrier = Log()
    let held = Held()
    queue.addOperation(held)
    held.began.wait()
    queue.addBarrierBlock { barrier.write("\(OperationQueue.current === queue)") }
    held.mayEnd.open()
    queue.waitUntilAllOperationsAreFinished()
    line("in a barrier block", barrier.words)

    let elsewhere = Log()
    let done = Door()
    Thread.detachNewThread {
        elsewhere.write("\(OperationQueue.current == nil)")
        done.open()
    }
    done.wait()
    line("nil on a thread of its own", elsewhere.words)

    let byHand = Log()
    let operation = BlockOperation {
        byHand.write("\(OperationQueue.current === OperationQueue.main)")
    }
    operation.start()
    line("started by hand on the main thread", byHand.words)

    let dispatchLog = Log()
    let dispatch = DispatchQueue(label: "files")
    let key = DispatchSpecificKey<String>()
    dispatch.setSpecific(key: key, value: "files")
    let underlying = OperationQueue()
    underlying.underlyingQueue = dispatch
    line("the underlying queue", underlying.underlyingQueue === dispatch)
    underlying.addOperation { dispatchLog.write(DispatchQueue.getSpecific(key: key) ?? "nil") }
    underlying.waitUntilAllOperationsAreFinished()
    line("runs on the underlying queue", dispatchLog.words)
    underlying.underlyingQueue = nil
    line("no underlying queue", underlying.underlyingQueue == nil)

    let mainLog = Log()
    OperationQueue.main.addOperation {
        mainLog.write("\(Thread.isMainThread)")
        mainLog.write("\(OperationQueue.current === OperationQueue.main)")
    }
    OperationQueue.main.addOperation { mainLog.write("second") }
    line("counted in the main queue", OperationQueue.main.operationCount)
    while OperationQueue.main.operationCount > 0 {
        RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: 0.1))
    }
    line("the main queue in a run loop", mainLog.words)
}
