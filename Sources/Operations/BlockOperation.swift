import Synchronization

/// An operation made of blocks, which run at the same time as each other.
///
/// It has finished when all of them have returned. Cancelling it while it runs does not skip blocks
/// that have not begun.
open class BlockOperation: Operation, @unchecked Sendable {
    /// The first block. Set before anybody else sees the operation.
    private(set) var block: (@Sendable () -> Void)?

    /// Makes an operation without blocks, which finishes at once.
    public override init() {
        super.init()
        if type(of: self) == BlockOperation.self {
            // Nobody else sees it yet.
            let plain = word.load(ordering: .relaxed) | OperationWord.Flags.plain.rawValue
            word.store(plain, ordering: .relaxed)
        }
    }

    /// Makes an operation of one block; more can be added.
    public convenience init(block: consuming @escaping @Sendable () -> Void) {
        self.init()
        // It was nil: an assignment would keep the operation alive while it releases the old value.
        withUnsafeMutablePointer(to: &self.block) { $0.initialize(to: block) }
    }

    /// The blocks, in the order added.
    public var executionBlocks: [@Sendable () -> Void] {
        let further = existingExtras == nil ? [] : withExtras { $0.furtherBlocks }
        return (block.map { [$0] } ?? []) + further
    }

    /// Adds a block.
    ///
    /// - Precondition: the operation has not begun to execute.
    public func addExecutionBlock(_ block: @escaping @Sendable () -> Void) {
        if !append(block) { misuse(.addingBlock(to: self)) }
    }

    /// False if it is too late.
    final func append(_ block: @escaping @Sendable () -> Void) -> Bool {
        // An operation begins only while its lock is free, and looks for further blocks after that.
        withExtras { extras in
            let phase = status.phase
            guard phase != .executing, phase != .finished else { return false }
            extras.furtherBlocks.append(block)
            update { word in
                word.insert(.elaborate)
                return true
            }
            return true
        }
    }

    /// Runs all blocks and returns when the last one has.
    ///
    /// The calling thread runs blocks too, and idle workers help it.
    open override func main() {
        let blocks = executionBlocks
        if let only = blocks.first, blocks.count == 1 {
            only()
        } else if !blocks.isEmpty {
            SharedWork(blocks, of: self).run()
        }
    }
}

extension BlockOperation {
    /// Runs a plain operation that was claimed with a batch: what `start()` and `finish()` do, without
    /// asking what cannot have been overridden.
    ///
    /// Returns the operation that follows at once, if this one made one ready that may.
    @inline(__always)
    func runPlain(_ batch: Batch, in queue: OperationQueue) -> Unmanaged<Operation>? {
        guard let begun = updateUnlocked({ $0.plainBegun() })?.after else {
            // It was given a dependency at the last moment.
            queue.unbegin(batch)
            return nil
        }
        if begun.has(.observed) { tellObservers() }
        if begun.phase == .executing {
            if begun.has(.elaborate) || queue.hasProgress.load(ordering: .relaxed) {
                _ = ThreadContext.current.prepare(for: self, in: queue)
                runMain()
            } else {
                block?()
            }
        }
        if queue.attention.load(ordering: .relaxed) != batch.attention,
            let single = queue.singleOut(from: batch)
        {
            single.takeRetainedValue().finish()
            return nil
        }
        guard let end = updateUnlocked({ $0.finishedAndLocked() }) else { return nil }
        if end.after.has([.hasAudience, .locked]) || end.after.unfinishedDependencies > 0 {
            return conclude(end.after, batch, in: queue)
        }
        return nil
    }

    /// What follows from the end of a plain operation that has more than its block.
    private func conclude(
        _ word: OperationWord, _ batch: Batch, in queue: OperationQueue
    ) -> Unmanaged<Operation>? {
        var next: Unmanaged<Operation>?
        if word.unfinishedDependencies > 0 {
            unlock()
            detachFromDependencies()
            if word.has(.locked) { lock() }
        }
        let completionBlock =
            word.has(.hasAudience) ? tellAudience(isLocked: word.has(.locked)) : nil
        if word.has(.locked) {
            var others: [Unmanaged<Operation>] = []
            var forgotten = References()
            let told = releaseSuccessors { dependent in
                if next == nil { next = dependent } else { others.append(dependent) }
            }
            forgetOldDependencies(&forgotten)
            unlock()
            if let only = next, !others.isEmpty || !queue.continues(batch, with: only) {
                Self.bringOn(only)
                next = nil
            }
            if !others.isEmpty { Self.bringOn(others) }
            told?.tell()
            forgotten.release()
        }
        if let completionBlock { WorkerPool.shared.submit(.block(completionBlock)) }
        return next
    }
}

extension OperationQueue {
    /// Lets the operation that just became ready follow at once in the same batch, if nothing else comes
    /// before it.
    @inline(__always)
    fileprivate func continues(_ batch: Batch, with operation: Unmanaged<Operation>) -> Bool {
        guard batch.holdsSlot, batch.canContinue, !hasPrecedence.load(ordering: .relaxed),
            attention.load(ordering: .relaxed) == batch.attention
        else { return false }
        let isOurs = operation._withUnsafeGuaranteedRef {
            $0.status.has(.plain)
                && $0.ownQueue().toOpaque() == Unmanaged.passUnretained(self).toOpaque()
        }
        if isOurs, batch.continues(with: operation) { WorkerPool.shared.watchBatches() }
        return isOurs
    }
}

/// Blocks that several threads take from one list.
///
/// Helpers that come late find nothing left; the thread that waits is woken by whoever ends the last
/// block.
private final class SharedWork: Sendable {
    private let blocks: [@Sendable () -> Void]
    private let operation: Operation
    private let queue = ThreadContext.currentQueue
    private let next = Atomic<Int>(0)
    private let unfinished: Atomic<Int>
    private let done = Gate()

    init(_ blocks: [@Sendable () -> Void], of operation: Operation) {
        self.blocks = blocks
        self.operation = operation
        self.unfinished = Atomic(blocks.count)
    }

    func run() {
        for _ in 1..<blocks.count {
            WorkerPool.shared.submit(
                .block { [self] in
                    let context = ThreadContext.current
                    if let queue, !context.prepare(for: operation, in: queue) { return }
                    context.inside(operation, of: queue) { takeBlocks() }
                })
        }
        takeBlocks()
        done.waitOnWorker()
    }

    private func takeBlocks() {
        while true {
            let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
            guard index < blocks.count else { return }
            blocks[index]()
            if unfinished.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
                done.open()
            }
        }
    }
}
