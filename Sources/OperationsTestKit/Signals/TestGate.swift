import Operations
import OperationsRuntime

/// A gate that a test opens for the tasks and threads that wait at it.
///
/// For queues of a ``TestScheduler`` and for others. Once open, the gate stays open.
public final class TestGate: Sendable {
    private struct State {
        var isOpen = false
        var nextNumber = 0
        /// The waiting tasks, in the order in which they came.
        var waiting: [(number: Int, continuation: CheckedContinuation<Bool, Never>)] = []
        var cancelled: Set<Int> = []
    }

    private let state = Locked(State())
    private let threads = OperationsRuntime.Latch()

    /// Makes a closed gate.
    public init() {}

    /// Whether the gate has been opened.
    public var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Lets all waiting tasks and threads continue, tasks in the order in which they came, and all
    /// that come later.
    public func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for (_, continuation) in waiting { continuation.resume(returning: true) }
        threads.open()
    }

    /// Suspends the task until the gate is open, or until the task is cancelled.
    ///
    /// - Returns: false if the task was cancelled before the gate was open.
    @discardableResult
    public func wait() async -> Bool {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    let isCancelled = state.cancelled.remove(number) != nil
                    if state.isOpen { return true }
                    if isCancelled { return false }
                    state.waiting.append((number, continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let continuation: CheckedContinuation<Bool, Never>? = state.withLock { state in
                guard let index = state.waiting.firstIndex(where: { $0.number == number }) else {
                    state.cancelled.insert(number)
                    return nil
                }
                return state.waiting.remove(at: index).continuation
            }
            continuation?.resume(returning: false)
        }
    }

    /// Blocks the calling thread until the gate is open.
    ///
    /// A worker thread that waits here is replaced by another one meanwhile.
    ///
    /// - Precondition: not called inside of an operation on a queue of a ``TestScheduler``, unless
    ///   the gate is open: everything else runs on the same thread.
    @available(*, noasync, message: "write: await gate.wait()")
    public func wait() { threads.waitOnWorker() }
}
