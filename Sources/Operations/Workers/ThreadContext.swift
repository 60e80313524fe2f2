/// What the calling thread is doing for the library.
///
/// Unchecked: an instance is only ever touched by the thread it belongs to.
final class ThreadContext: @unchecked Sendable {
    private struct Frame {
        let operation: Operation
        let queue: OperationQueue?
    }

    private static let pointer = ThreadLocalPointer { context in
        guard let context else { return }
        Unmanaged<ThreadContext>.fromOpaque(context).release()
    }

    /// The operations that this thread is inside of, the outermost first: a wait may run others.
    private var frames: [Frame] = []
    /// The worker that this thread is, while the pool counts it as active.
    var activeWorker: Worker?
    /// Set when the thread cannot go back to its normal niceness.
    var isSpoiled = false

    static var existing: ThreadContext? {
        pointer.value.map { Unmanaged<ThreadContext>.fromOpaque($0).takeUnretainedValue() }
    }

    static var current: ThreadContext {
        if let existing { return existing }
        let context = ThreadContext()
        pointer.value = Unmanaged.passRetained(context).toOpaque()
        return context
    }

    static var currentQueue: OperationQueue? { existing?.frames.last?.queue }

    /// Runs a part of an operation, on whatever thread.
    ///
    /// - Parameter queue: the queue that runs it; nil to stay in the one that the caller is in.
    static func withOperation(
        _ operation: Operation, of queue: OperationQueue? = nil, run: () -> Void
    ) {
        let context = current
        if queue == nil, context.frames.last?.operation === operation { return run() }
        context.frames.append(Frame(operation: operation, queue: queue ?? currentQueue))
        run()
        context.frames.removeLast()
    }

    static func isInside(_ operation: Operation) -> Bool {
        existing?.frames.contains { $0.operation === operation } ?? false
    }

    /// The innermost operation of `queue` that the calling thread is inside of.
    static func operation(of queue: OperationQueue) -> Operation? {
        existing?.frames.last { $0.queue === queue }?.operation
    }
}
