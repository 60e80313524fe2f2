import Foundation

/// The usual adapter that puts an `async` function into a Foundation queue.
///
/// Unchecked: a lock guards the two flags.
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
