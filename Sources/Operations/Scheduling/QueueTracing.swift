/// The recording of what happens to operations of a queue that is observed. It lies above the core,
/// in `Tracing/`, where the queue conforms to this protocol.
///
/// The scheduler calls none of this for other queues (``OperationQueue/isObserved``). Tracing.md
/// lists the events and their order.
protocol QueueTracing: AnyObject {
    /// Records operations that are about to be added to the queue.
    func recordAddition(of operation: Operation)
    func recordAddition(of operations: UnsafeBufferPointer<Unmanaged<Operation>>)

    /// Records operations that are about to be put on the ready list.
    func recordReady(_ operation: Operation)
    func recordReady(_ operations: ArraySlice<Unmanaged<Operation>>)

    /// Records that the operation gets the permits for which it has waited since it was ready.
    func recordPermits(for operation: Operation)

    /// Records that the body is about to begin on this thread, outside of a batch.
    func recordStart(of operation: Operation)

    /// Runs the body of an operation of a batch, and records its start and its end.
    ///
    /// - Parameters:
    ///   - state: the state, which says that the operation executes.
    ///   - instrumentation: the instrumentation of the queue just before the start.
    func record(
        _ operation: Operation, _ state: LifecycleState, _ batch: Batch,
        _ instrumentation: Instrumentation, running body: () -> Void)

    /// Records the end of an operation whose body ran outside of a batch, on any thread, or that
    /// was cancelled before its body began.
    ///
    /// - Parameter state: the state just before the operation finished.
    func recordEnd(of operation: Operation, _ state: LifecycleState)

    /// Records an operation that leaves without having begun, because it was cancelled or its
    /// deadline has passed.
    func recordDropped(_ operation: Operation)

    /// Runs code that blocks the thread inside of the operation with the given address, and records
    /// that.
    func recordWait(inside operation: UInt, on thread: ThreadContext, running wait: () -> Void)
}

extension OperationQueue {
    /// The queue as its recording sees it.
    final var tracing: any QueueTracing { self }
}

extension ThreadContext {
    /// Runs code that blocks the thread. Observers are notified of the wait if the thread is inside
    /// of an operation.
    func recordWait(_ wait: () -> Void) {
        guard let queue = Self.currentQueue, queue.isObserved, let operation = namedOperation
        else { return wait() }
        let identity = UInt(bitPattern: operation.toOpaque())
        queue.tracing.recordWait(inside: identity, on: self, running: wait)
    }
}
