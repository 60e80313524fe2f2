import Dispatch
public import Operations
import OperationsRuntime

/// A subclass that manages its own state, written as usual for Foundation: an enum, and
/// notifications for both the old and the new key.
open class StateKeepingOperation: Operation, @unchecked Sendable {
    /// The state; the raw value is the key of the property that is true in it.
    public enum State: String, Sendable {
        case ready = "isReady"
        case executing = "isExecuting"
        case finished = "isFinished"
    }

    private let current = Locked(State.ready)

    /// The state. Setting it notifies observers of both keys.
    public var stage: State {
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

    open override var isReady: Bool { super.isReady && stage == .ready }
    open override var isExecuting: Bool { stage == .executing }
    open override var isFinished: Bool { stage == .finished }
    open override var isAsynchronous: Bool { true }

    open override func start() {
        if isCancelled {
            stage = .finished
            return
        }
        stage = .executing
        main()
    }
}

/// Runs `work` on a thread of Dispatch when started, and finishes when `work` has returned.
public final class DispatchedOperation: StateKeepingOperation, @unchecked Sendable {
    private let work: @Sendable () -> Void

    /// Makes an operation that has not been started.
    public init(_ work: @escaping @Sendable () -> Void) {
        self.work = work
    }

    public override func main() {
        DispatchQueue.global().async { [self] in
            work()
            stage = .finished
        }
    }
}
