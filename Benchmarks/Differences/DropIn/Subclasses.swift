import Foundation

/// An operation that keeps its own state, as Apple's guide has it for concurrent operations.
private final class Own: Operation, @unchecked Sendable {
    private let lock = NSLock()
    private var executing = false
    private var finished = false
    let log: Log
    let mainReturns = Door()

    init(_ log: Log) { self.log = log }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { lock.withLock { executing } }
    override var isFinished: Bool { lock.withLock { finished } }

    override func start() {
        log.write("start")
        if isCancelled { return finish() }
        willChangeValue(forKey: "isExecuting")
        lock.withLock { executing = true }
        didChangeValue(forKey: "isExecuting")
        main()
    }

    override func main() {
        log.write("main")
        mainReturns.open()
    }

    override func cancel() {
        log.write("cancel")
        super.cancel()
    }

    func finish() {
        log.write("finish")
        willChangeValue(forKey: "isExecuting")
        willChangeValue(forKey: "isFinished")
        lock.withLock { (executing, finished) = (false, true) }
        didChangeValue(forKey: "isExecuting")
        didChangeValue(forKey: "isFinished")
    }
}

/// An operation whose readiness is its own.
private final class Patient: Operation, @unchecked Sendable {
    private let lock = NSLock()
    private var may = false
    let log: Log

    init(_ log: Log) { self.log = log }

    override var isReady: Bool { lock.withLock { may } && super.isReady }

    override func main() { log.write("patient") }

    func allow() {
        willChangeValue(forKey: "isReady")
        lock.withLock { may = true }
        didChangeValue(forKey: "isReady")
    }
}

func subclasses() {
    let queue = OperationQueue()
    let log = Log()
    let own = Own(log)
    let after = Note("dependent", log)
    after.addDependency(own)
    queue.addOperations([own, after], waitUntilFinished: false)
    own.mainReturns.wait()
    line("executing after main() has returned", own.isExecuting)
    line("its queue counts", queue.operationCount)
    line("its dependent is ready", after.isReady)
    own.finish()
    queue.waitUntilAllOperationsAreFinished()
    line("calls", log.words)
    line("state after its end", state(of: own))

    let cancelledLog = Log()
    let cancelled = Own(cancelledLog)
    cancelled.cancel()
    queue.addOperations([cancelled], waitUntilFinished: true)
    line("calls of one that was cancelled before", cancelledLog.words)
    line("state of one that was cancelled before", state(of: cancelled))

    let runningLog = Log()
    let running = Own(runningLog)
    queue.addOperation(running)
    running.mainReturns.wait()
    queue.cancelAllOperations()
    line("cancelled while it runs", state(of: running))
    running.finish()
    queue.waitUntilAllOperationsAreFinished()
    line("calls of one that was cancelled while it ran", runningLog.words)

    let byHandLog = Log()
    let byHand = Own(byHandLog)
    byHand.start()
    line("started by hand", state(of: byHand))
    byHand.finish()
    byHand.waitUntilFinished()
    line("calls of one that was started by hand", byHandLog.words)

    let patientLog = Log()
    let patient = Patient(patientLog)
    let serial = serialQueue()
    let next = Note("next", patientLog)
    serial.addOperations([patient, next], waitUntilFinished: false)
    next.waitUntilFinished()
    line("one that is not ready, behind the next", patientLog.words)
    patient.allow()
    serial.waitUntilAllOperationsAreFinished()
    line("after it has become ready", patientLog.words)

    let endedOutside = Own(Log())
    endedOutside.start()
    endedOutside.finish()
    let dependentLog = Log()
    let dependent = Note("dependent", dependentLog)
    dependent.addDependency(endedOutside)
    queue.addOperations([dependent], waitUntilFinished: true)
    line("dependent of one that ended in no queue", dependentLog.words)
}

/// The same by key paths.
private final class ByKeyPaths: Operation, @unchecked Sendable {
    private let lock = NSLock()
    private var executing = false
    private var finished = false

    override var isExecuting: Bool { lock.withLock { executing } }
    override var isFinished: Bool { lock.withLock { finished } }

    override func start() {
        willChangeValue(for: \.isExecuting)
        lock.withLock { executing = true }
        didChangeValue(for: \.isExecuting)
        Thread.detachNewThread {
            self.willChangeValue(for: \.isExecuting)
            self.willChangeValue(for: \.isFinished)
            self.lock.withLock { (self.executing, self.finished) = (false, true) }
            self.didChangeValue(for: \.isExecuting)
            self.didChangeValue(for: \.isFinished)
        }
    }
}

/// An operation that writes down which of its methods are called.
private final class Called: Operation, @unchecked Sendable {
    let log: Log

    init(_ log: Log) { self.log = log }

    override func start() {
        log.write("start")
        super.start()
    }

    override func main() { log.write("main") }

    override func cancel() {
        log.write("cancel")
        super.cancel()
    }

    override func addDependency(_ dependency: Operation) {
        log.write("depend")
        super.addDependency(dependency)
    }

    override func waitUntilFinished() {
        super.waitUntilFinished()
        log.write("waited")
    }
}

func overrides() {
    let queue = OperationQueue()
    let byKeyPaths = ByKeyPaths()
    let dependentLog = Log()
    let dependent = Note("dependent", dependentLog)
    dependent.addDependency(byKeyPaths)
    queue.addOperations([dependent, byKeyPaths], waitUntilFinished: true)
    line("announced by key paths", state(of: byKeyPaths))
    line("its dependent", dependentLog.words)

    let log = Log()
    let called = Called(log)
    let first = Operation()
    called.addDependency(first)
    queue.addOperation(called)
    first.start()
    called.waitUntilFinished()
    called.cancel()
    line("calls of overrides", log.words)

    let cancelledLog = Log()
    let cancelled = Called(cancelledLog)
    cancelled.cancel()
    cancelled.start()
    line("calls of one that was cancelled before", cancelledLog.words)

    let allLog = Log()
    let all = [Called(allLog), Called(allLog)]
    let suspended = OperationQueue()
    suspended.isSuspended = true
    suspended.addOperations(all, waitUntilFinished: false)
    suspended.cancelAllOperations()
    line("cancelAllOperations() calls", allLog.words)
    line("state after it", all.map(\.isCancelled))
}

func blocks() {
    let log = Log()
    let operation = BlockOperation { log.write("a") }
    operation.addExecutionBlock { log.write("b") }
    operation.addExecutionBlock { log.write("c") }
    line("number of blocks", operation.executionBlocks.count)
    operation.start()
    line("blocks that ran", log.sorted)
    line("number of blocks after the end", operation.executionBlocks.count)
    line("state after the end", state(of: operation))

    let cancelledLog = Log()
    let cancelled = BlockOperation { cancelledLog.write("a") }
    cancelled.cancel()
    cancelled.start()
    line("blocks of a cancelled operation", cancelledLog.words)

    let empty = BlockOperation()
    OperationQueue().addOperations([empty], waitUntilFinished: true)
    line("without blocks", state(of: empty))

    let selfCancelLog = Log()
    let selfCancelling = BlockOperation()
    selfCancelling.addExecutionBlock { [unowned selfCancelling] in
        selfCancelLog.write("a")
        selfCancelling.cancel()
    }
    selfCancelling.addExecutionBlock { selfCancelLog.write("b") }
    OperationQueue().addOperations([selfCancelling], waitUntilFinished: true)
    line("blocks of one that cancels itself", selfCancelLog.sorted)
    line("state of one that cancels itself", state(of: selfCancelling))

    let mainLog = Log()
    let byHand = BlockOperation { mainLog.write("a") }
    byHand.main()
    line("main() by hand", mainLog.words)
    line("state after main() by hand", state(of: byHand))
    for block in byHand.executionBlocks { block() }
    line("a block called by hand", mainLog.words)
}
