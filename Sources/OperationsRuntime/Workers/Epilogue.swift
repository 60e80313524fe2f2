import Synchronization

/// The steps that a thread performs after operations have ended: it wakes the waiters of their
/// queue, calls completion blocks, and releases bodies. See Finishing.md.
///
/// A worker that ends operations collects these steps, and performs them as soon as it is inside no
/// operation and holds no slot of a queue. If the worker blocks before that, or does not get there
/// within milliseconds, other workers perform them.
///
/// Unchecked: all variables are guarded by `lock`.
package final class Epilogue: @unchecked Sendable {
    private let lock = SpinLock()
    private var steps = FIFO<WorkItem>()
    /// The number of steps so far that were added or begun.
    private var serial = 0
    /// How many nested calls of ``during(_:)`` the thread is in.
    private var depth = 0
    /// Whether there are steps. Only the thread that the epilogue belongs to adds steps, so this is
    /// false for that thread only if there are none.
    private let hasSteps = Atomic<Bool>(false)

    package var isEmpty: Bool { !hasSteps.load(ordering: .relaxed) }

    /// Adds a step. Called by the thread that the epilogue belongs to, or on its behalf while it
    /// waits.
    package func append(_ step: @escaping @Sendable () -> Void) {
        add { $0.append(.block(step, .epilogue)) }
    }

    /// Adds a step before all others. Called by the thread that the epilogue belongs to.
    package func prepend(_ step: @escaping @Sendable () -> Void) {
        add { $0.prepend(.block(step, .epilogue)) }
    }

    private func add(_ insert: (inout FIFO<WorkItem>) -> Void) {
        lock.withLock {
            insert(&steps)
            serial += 1
            hasSteps.store(true, ordering: .relaxed)
        }
    }

    /// Marks the execution of `body` as an epilogue, which the monitor thread watches on behalf of
    /// what waits for its end.
    package func during(_ body: () -> Void) {
        deepen(1)
        body()
        deepen(-1)
    }

    private func deepen(_ levels: Int) {
        lock.withLock {
            depth += levels
            serial += 1
        }
    }

    /// Performs all steps, including those that are added meanwhile.
    ///
    /// Each step is taken by itself: if one blocks, other workers perform the following ones.
    package func perform() {
        if isEmpty { return }
        during {
            while let step = takeNext() { step.perform() }
        }
    }

    private func takeNext() -> WorkItem? {
        lock.withLock {
            let next = steps.popFirst()
            serial += 1
            if next == nil { hasSteps.store(false, ordering: .relaxed) }
            return next
        }
    }

    // MARK: For other threads

    /// Submits the steps that have not begun to the pool.
    func passOn() {
        while let step = lock.withLock({ steps.popFirst() }) { WorkerPool.submit(step) }
    }

    /// The thread's progress; nil if nothing waits for it.
    var progress: Int? {
        lock.withLock { depth > 0 || !steps.isEmpty ? -serial : nil }
    }
}

extension WorkItem {
    fileprivate func perform() { if case .block(let block, _) = self { block() } }
}
