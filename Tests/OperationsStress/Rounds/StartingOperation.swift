import Dispatch
import Operations
import OperationsRuntime

/// Overrides `start()`, keeps its own state, and ends on another thread.
final class StartingOperation: Operation, @unchecked Sendable {
    private enum Stage { case waiting, executing, finished }

    private let stage = Locked(Stage.waiting)
    private let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) { self.work = work }

    override var isExecuting: Bool { stage.withLock { $0 } == .executing }
    override var isFinished: Bool { stage.withLock { $0 } == .finished }
    override var isAsynchronous: Bool { true }

    override func start() {
        if isCancelled { return change(to: .finished, announcing: "isFinished") }
        change(to: .executing, announcing: "isExecuting")
        work()
        DispatchQueue.global().async {
            self.willChangeValue(forKey: "isExecuting")
            self.change(to: .finished, announcing: "isFinished")
            self.didChangeValue(forKey: "isExecuting")
        }
    }

    private func change(to new: Stage, announcing key: String) {
        willChangeValue(forKey: key)
        stage.withLock { $0 = new }
        didChangeValue(forKey: key)
    }
}
