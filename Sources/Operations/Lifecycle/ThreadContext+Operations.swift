// Which operations and queues a thread is inside.

import OperationsRuntime
import Synchronization

extension ThreadContext {
    /// The operation that this thread runs. It stays alive because it is running.
    var operation: Unmanaged<Operation>? {
        @inline(__always) get {
            placeOfOperationState.pointee.frame.operation.map { Unmanaged.fromOpaque($0) }
        }
        @inline(__always) set {
            placeOfOperationState.pointee.frame.operation = newValue?.toOpaque()
        }
    }

    /// The operation that this thread runs, made now if the thread runs a block without one.
    var materializedOperation: Unmanaged<Operation>? {
        materialize()
        return operation
    }

    /// Enters the operation of the block that this thread runs; makes it if nobody has.
    func materialize() {
        guard let blockClaim = operationState.blockClaim, let queue = Self.currentQueue else {
            return
        }
        let claim = Unmanaged<Claim>.fromOpaque(blockClaim).takeUnretainedValue()
        if let source = claim.source {
            return source._withUnsafeGuaranteedRef {
                $0.enterOperation(of: claim, in: queue, context: self)
            }
        }
        guard let operation = queue.materializeRunning(in: claim) else { return }
        (self.operation, operationState.blockClaim) = (operation, nil)
    }

    /// Enters the operation that was made for the entry of a source which this thread runs. The
    /// thread stays inside the operation that has the entries, and takes over the reference.
    func enterEntry(_ operation: Unmanaged<Operation>) {
        operationState.outer.append(operationState.frame)
        operationState.frame.operation = operation.toOpaque()
        operationState.blockClaim = nil
    }

    /// Leaves the operation that was made for the entry of a source which this thread has run,
    /// retained; nil if there is none.
    func leaveEntry() -> Unmanaged<Operation>? {
        guard operationState.blockClaim == nil, let operation else { return nil }
        operationState.frame = operationState.outer.removeLast()
        return operation
    }

    /// Whether this thread runs an operation, or a block without one.
    var isInsideOperation: Bool {
        operationState.frame.operation != nil || !operationState.outer.isEmpty
            || operationState.blockClaim != nil
    }

    private var queue: Unmanaged<OperationQueue>? {
        operationState.frame.queue.map { Unmanaged.fromOpaque($0) }
    }

    static var currentQueue: OperationQueue? { existing?.queue?.takeUnretainedValue() }

    /// Runs a part of an operation, on any thread.
    ///
    /// - Parameters:
    ///   - operation: The operation; nil if `run` sets ``operation`` itself.
    ///   - queue: The queue that runs the operation; nil to keep the caller's queue.
    @inline(__always)
    func inside(_ operation: Operation?, of queue: OperationQueue? = nil, run: () -> Void) {
        if queue == nil, let operation, isRunning(operation) { return run() }
        let before = enter(operation, of: queue)
        run()
        leave(to: before)
    }

    private func isRunning(_ operation: Operation) -> Bool {
        operationState.frame.operation == .some(operation.opaque)
    }

    /// Enters a part of an operation. Returns the frame that the thread leaves for it.
    private func enter(
        _ operation: Operation?, of queue: OperationQueue?
    ) -> OperationThreadState.Frame {
        if operationState.blockClaim != nil { materialize() }
        let before = operationState.frame
        if before.operation != nil { operationState.outer.append(before) }
        operationState.frame = OperationThreadState.Frame(
            operation: operation?.opaque,
            queue: queue.map { Unmanaged.passUnretained($0).toOpaque() } ?? before.queue,
            task: Self.currentTask)
        return before
    }

    private func leave(to before: OperationThreadState.Frame) {
        operationState.frame = before
        if before.operation != nil { operationState.outer.removeLast() }
    }

    /// The operation that this thread runs inside the current task. It was started there by hand,
    /// so it is nested more deeply than the operation whose body that task is.
    var operationOfTask: Operation? {
        guard let task = operationState.frame.task, task == Self.currentTask else { return nil }
        return materializedOperation?.takeUnretainedValue()
    }

    static func isInside(_ operation: Operation) -> Bool {
        guard let existing else { return false }
        existing.materialize()
        return existing.operationState.frame.operation == operation.opaque
            || existing.operationState.outer.contains { $0.operation == operation.opaque }
    }

    static func isStoppingBody(of operation: Operation) -> Bool {
        existing?.operationState.stopped == .some(operation.opaque)
    }

    /// Calls a function that may really cancel the operation, while the body of the operation is
    /// being stopped.
    static func whileStoppingBody(of operation: Operation, _ body: () -> Void) {
        guard let existing, isStoppingBody(of: operation) else { return body() }
        let stopped = existing.operationState.stopped
        existing.operationState.stopped = nil
        body()
        existing.operationState.stopped = stopped
    }

    /// The operations that the calling thread is inside, the outermost first.
    static var operationsInside: [Operation] { frames.compactMap(\.operation).map(operation(at:)) }

    /// Returns the operations of `queue` that the calling thread is inside, the outermost first.
    static func operations(of queue: OperationQueue) -> [Operation] {
        let address = Unmanaged.passUnretained(queue).toOpaque()
        return frames.filter { $0.queue == address }.compactMap(\.operation).map(operation(at:))
    }

    private static var frames: [OperationThreadState.Frame] {
        existing?.materialize()
        return existing.map { $0.operationState.outer + [$0.operationState.frame] } ?? []
    }

    private static func operation(at address: UnsafeMutableRawPointer) -> Operation {
        Unmanaged<Operation>.fromOpaque(address).takeUnretainedValue()
    }

    /// Returns whether the calling thread is about to remove the operation from its queue.
    static func isLeaving(_ operation: Operation) -> Bool {
        existing?.operationState.leaving.contains(operation.opaque) == true
    }
}

extension UnsafeMutablePointer<OperationThreadState> {
    /// Enters a block without an operation.
    @inline(__always)
    func enter(_ block: Entry, of claim: Claim) {
        pointee.frame.operation = nil
        pointee.blockClaim = Unmanaged.passUnretained(claim).toOpaque()
        pointee.blockRank = Int(block.rank)
    }
}

extension Operation {
    /// The operation that the caller runs in, directly or in a function that its body calls; nil
    /// outside of operations.
    public static var current: Operation? {
        let context = ThreadContext.existing
        if let inTask = context?.operationOfTask ?? TaskContext.operation { return inTask }
        guard let ofThread = context?.materializedOperation?.takeUnretainedValue() else {
            return nil
        }
        return ofThread.isPieceOfTask ? nil : ofThread
    }

    /// The address of the operation.
    final var opaque: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
}
