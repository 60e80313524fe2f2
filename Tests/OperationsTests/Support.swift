import Dispatch

@testable import Operations

/// Counts the threads or tasks that are inside at the same time.
final class Occupancy: Sendable {
    private let counts = Locked((now: 0, highest: 0))

    func enter() {
        counts.withLock {
            $0.now += 1
            $0.highest = max($0.highest, $0.now)
        }
    }
    func leave() { counts.withLock { $0.now -= 1 } }
    var now: Int { counts.withLock { $0.now } }
    var highest: Int { counts.withLock { $0.highest } }
}

/// A subclass that manages its own state, written as usual for Foundation: an enum, and
/// notifications for both the old and the new key.
class StateKeepingOperation: Operation, @unchecked Sendable {
    enum State: String {
        case ready = "isReady"
        case executing = "isExecuting"
        case finished = "isFinished"
    }

    private let current = Locked(State.ready)

    var stage: State {
        get { current.withLock { $0 } }
        set {
            let old = stage
            willChangeValue(forKey: newValue.rawValue)
            willChangeValue(forKey: old.rawValue)
            current.withLock { $0 = newValue }
            didChangeValue(forKey: old.rawValue)
            didChangeValue(forKey: newValue.rawValue)
        }
    }

    override var isReady: Bool { super.isReady && stage == .ready }
    override var isExecuting: Bool { stage == .executing }
    override var isFinished: Bool { stage == .finished }
    override var isAsynchronous: Bool { true }

    override func start() {
        if isCancelled {
            stage = .finished
            return
        }
        stage = .executing
        main()
    }
}

/// Runs `work` on a thread of Dispatch when started, and finishes when `work` has returned.
final class DispatchedOperation: StateKeepingOperation, @unchecked Sendable {
    private let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) {
        self.work = work
    }

    override func main() {
        DispatchQueue.global().async { [self] in
            work()
            stage = .finished
        }
    }
}

func serialQueue() -> OperationQueue {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    return queue
}

func suspendedQueue() -> OperationQueue {
    let queue = OperationQueue()
    queue.isSuspended = true
    return queue
}

extension OperationQueue {
    /// Waits without blocking the test's task.
    func drain() async { await waitUntilAllOperationsAreFinished() }
}
