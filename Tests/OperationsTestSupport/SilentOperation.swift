public import Operations
import OperationsRuntime

/// An asynchronous subclass as it is on Apple's systems, where key-value observing announces its
/// state by itself: nothing in it announces anything.
public final class SilentOperation: Operation, @unchecked Sendable {
    /// Sent when `start()` has begun.
    public let began = Signal()
    /// Lets `start()` return.
    public let proceed = Signal()

    private let stage = Locked((isExecuting: false, isFinished: false))

    /// Makes an operation, and configures it.
    public convenience init(_ configure: (SilentOperation) -> Void) {
        self.init()
        configure(self)
    }

    /// Whether the work is over.
    public var isOver: Bool {
        get { stage.withLock { $0.isFinished } }
        set { stage.withLock { $0 = (!newValue, newValue) } }
    }

    public override var isExecuting: Bool { stage.withLock { $0.isExecuting } }
    public override var isFinished: Bool { isOver }
    public override var isAsynchronous: Bool { true }

    public override func start() {
        isOver = false
        began.send()
        _ = proceed.wait()
    }
}
