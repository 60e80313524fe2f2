public import Operations
import OperationsRuntime
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// Work of default quality that computes on all processors, with more of it waiting, until it is
/// told to end.
public final class Computing: Sendable {
    private let isOver = Atomic(false)
    private let started = Tally()
    /// The queue that computes.
    public let queue = OperationQueue()

    /// Makes work that has not begun.
    public init() {}

    /// Returns when all processors are busy with it. In a process of its own: nothing else runs
    /// meanwhile.
    public func begin() {
        for _ in 0..<3 * WorkerPool.cores { queue.addOperation { self.compute() } }
        waitUntilBusy()
    }

    /// Computes until ``end()``.
    public func compute() {
        started.increment()
        while !isOver.load(ordering: .relaxed) {}
    }

    /// Returns when all processors compute.
    public func waitUntilBusy() {
        while started.value < WorkerPool.cores { sched_yield() }
    }

    /// Ends the work.
    public func end() {
        isOver.store(true, ordering: .relaxed)
        queue.cancelAllOperations()
    }
}
