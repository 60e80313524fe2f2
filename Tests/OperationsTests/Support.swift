import Dispatch
import Synchronization

@testable import Operations

/// Things seen by several threads, in order.
final class Recorder<Value: Sendable>: Sendable {
    private let storage = Protected<[Value]>([])

    func record(_ value: Value) { storage.withLock { $0.append(value) } }
    var values: [Value] { storage.withLock { $0 } }
}

/// An event that threads and tasks can wait for; each wait uses up one signal.
struct Signal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func send() { semaphore.signal() }

    /// Blocks; false if two minutes went by, so that a test fails and does not hang.
    @discardableResult
    func wait() -> Bool { semaphore.wait(timeout: .now() + 120) == .success }

    /// The same for tests, whose threads are few, and serve the other tests too.
    func arrives() async -> Bool {
        await comesTrue { semaphore.wait(timeout: .now()) == .success }
    }
}

/// Counts how many are inside at the same time.
final class Occupancy: Sendable {
    private let counts = Protected((now: 0, highest: 0))

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

final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    @discardableResult
    func increment() -> Int { count.add(1, ordering: .relaxed).newValue }
    var value: Int { count.load(ordering: .acquiring) }
}

/// The way in which subclasses that manage their own state are written since Foundation's days: an
/// enum, and notifications for both the old and the new key.
class StateKeepingOperation: Operation, @unchecked Sendable {
    enum State: String {
        case ready = "isReady"
        case executing = "isExecuting"
        case finished = "isFinished"
    }

    private let current = Protected(State.ready)

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

/// Runs `work` on a thread of Dispatch's when started, and finishes when it has returned.
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

/// Suspends until the task is cancelled, which is what is waited for: the hour only bounds a test that fails.
func untilCancelled() async throws { try await Task.sleep(for: .seconds(3600)) }
