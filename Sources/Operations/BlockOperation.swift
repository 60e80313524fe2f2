import Synchronization

/// An operation made of blocks, which run at the same time as each other.
///
/// It has finished when all of them have returned. Cancelling it while it runs does not skip blocks
/// that have not begun.
open class BlockOperation: Operation, @unchecked Sendable {
    private let blocks = Protected<[@Sendable () -> Void]>([])

    /// Makes an operation without blocks, which finishes at once.
    public override init() {
        super.init()
    }

    /// Makes an operation of one block; more can be added.
    public convenience init(block: @escaping @Sendable () -> Void) {
        self.init()
        blocks.withLock { $0.append(block) }
    }

    /// The blocks, in the order added.
    public var executionBlocks: [@Sendable () -> Void] {
        blocks.withLock { $0 }
    }

    /// Adds a block.
    ///
    /// - Precondition: the operation has not begun to execute.
    public func addExecutionBlock(_ block: @escaping @Sendable () -> Void) {
        // `main()` reads the blocks after the phase has changed and under the same lock, so it either
        // sees this block or this sees the phase.
        let isTooLate = blocks.withLock { blocks in
            let phase = state.withLock { $0.phase }
            guard phase != .executing, phase != .finished else { return true }
            blocks.append(block)
            return false
        }
        if isTooLate {
            misuse("\(self) takes no more blocks: add them before it starts")
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
                    ThreadContext.withOperation(operation, of: queue) { takeBlocks() }
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
