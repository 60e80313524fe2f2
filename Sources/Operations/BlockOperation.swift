import OperationsRuntime
import Synchronization

/// An operation made of blocks that run at the same time as each other.
///
/// The operation finishes when all blocks have returned. Cancelling it while it runs does not skip
/// blocks that have not begun.
open class BlockOperation: Operation, @unchecked Sendable {
    /// The first block. Set before any other thread sees the operation.
    ///
    /// Not checked for overlapping accesses: it changes only in `init` and `deinit`.
    @exclusivity(unchecked)
    private(set) var block: (@Sendable () -> Void)?

    /// Makes an operation without blocks, which finishes as soon as it runs.
    public override init() {
        super.init()
        if type(of: self) == BlockOperation.self { useFastPath() }
    }

    /// Makes an operation with one block; more blocks can be added.
    public convenience init(block: consuming @escaping @Sendable () -> Void) {
        self.init()
        // The old value is nil: an assignment would keep the operation alive while it releases that
        // value.
        withUnsafeMutablePointer(to: &self.block) { $0.initialize(to: block) }
    }

    deinit {
        guard block != nil else { return }
        ThreadContext.releasing {
            block = nil
        } later: {
            block as Any
        }
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
        if !append(block) { OperationMisuse.addingBlock(to: self).refuse() }
    }

    /// Adds a block; returns false if the operation is already executing or finished.
    final func append(_ block: @escaping @Sendable () -> Void) -> Bool {
        // An operation begins only while its lock is free, and reads the further blocks after that.
        withExtras { extras in
            let phase = status.phase
            guard phase != .executing, phase != .finished else { return false }
            extras.furtherBlocks.append(block)
            lifecycle.insert(.needsSetup)
            return true
        }
    }

    override func runBlock() { block?() }

    /// Runs all blocks and returns when the last one has.
    ///
    /// The calling thread runs blocks too, and idle workers help it.
    open override func main() {
        let blocks = executionBlocks
        if let only = blocks.first, blocks.count == 1 {
            only()
        } else if let driver = ThreadContext.currentQueue?.driver {
            driver.runAll(blocks, of: self)
        } else if !blocks.isEmpty {
            SharedWork(blocks, of: self).run()
        }
    }
}

/// A list of blocks from which several threads take.
///
/// A helper that comes late finds the list empty. The thread that ends the last block wakes the
/// waiting thread.
private final class SharedWork: Sendable {
    private let blocks: [@Sendable () -> Void]
    private let operation: Operation
    private let queue = ThreadContext.currentQueue
    private let next = Atomic<Int>(0)
    private let unfinished: Atomic<Int>
    private let done = Latch()

    init(_ blocks: [@Sendable () -> Void], of operation: Operation) {
        self.blocks = blocks
        self.operation = operation
        self.unfinished = Atomic(blocks.count)
    }

    func run() {
        for _ in 1..<blocks.count {
            WorkerPool.submit(.block({ self.help() }, operation.urgency))
        }
        takeBlocks()
        done.waitOnWorker()
    }

    /// Runs blocks on a worker.
    private func help() {
        guard next.load(ordering: .relaxed) < blocks.count else { return }
        guard let queue, let niceness = operation.ownNiceness(in: queue) else {
            return takeBlocksInside()
        }
        operation.runOnOwnThread(niceness: niceness) {
            self.takeBlocksInside()
        }
    }

    private func takeBlocksInside() {
        ThreadContext.current.inside(operation, of: queue) {
            if let observer = operation.operationObserver {
                observer.perform { takeBlocks() }
            } else {
                takeBlocks()
            }
        }
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
