import Foundation

/// What Foundation's users write to put an `async` function into a queue.
///
/// Unchecked: the two flags are guarded by the lock.
final class TaskOperation: Operation, @unchecked Sendable {
    private let body: @Sendable () -> Void
    private let lock = NSLock()
    private var executing = false
    private var finished = false

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { lock.withLock { executing } }
    override var isFinished: Bool { lock.withLock { finished } }

    override func start() {
        willChangeValue(for: \.isExecuting)
        lock.withLock { executing = true }
        didChangeValue(for: \.isExecuting)
        Task {
            await Task.yield()
            body()
            end()
        }
    }

    private func end() {
        willChangeValue(for: \.isExecuting)
        willChangeValue(for: \.isFinished)
        lock.withLock {
            executing = false
            finished = true
        }
        didChangeValue(for: \.isExecuting)
        didChangeValue(for: \.isFinished)
    }
}
