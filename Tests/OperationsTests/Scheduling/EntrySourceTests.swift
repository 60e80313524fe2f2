import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations
@testable import OperationsRuntime

/// The entries of operations that are no graph.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct EntrySourceTests {
    private let queue = OperationQueue(width: 1)
    private let ran = TestRecorder<UInt32>()

    @Test func eachEntryRunsOnceAndThenTheOperationEnds() async {
        let operation = Numbers(1_000, then: ran.record)
        queue.addOperation(operation)
        await operation.finished()
        #expect(ran.events == Array(0..<1_000))
        #expect(queue.operationCount == 0)
    }

    @Test func manyWorkersShareTheEntries() async {
        let queue = OperationQueue(width: 4)
        let operations = (0..<8).map { _ in Numbers(1_000, then: ran.record) }
        for operation in operations { queue.addOperation(operation) }
        for operation in operations { await operation.finished() }
        #expect(ran.events.sorted() == (0..<8_000).map { UInt32($0 / 8) })
    }

    @Test func anEntryIsInsideItsOwnOperation() async {
        let names = TestRecorder<String>()
        let operation = Numbers(3) { number in
            if number == 1 { names.record(Operation.current?.name ?? "none") }
            if number == 2 { names.record("\(OperationQueue.current?.name ?? "none")") }
        }
        queue.name = "numbers"
        queue.addOperation(operation)
        await operation.finished()
        #expect(names.events == ["number 1", "numbers"])
    }

    /// What the worker has claimed and not begun goes back while the entry waits.
    @Test func entriesBehindOneThatWaitsGoToAnotherWorker() async {
        let queue = OperationQueue(width: 4)
        let (ran, last) = (ran, Signal())
        // The queue learns that entries take almost no time, and claims several at once.
        let quick = Numbers(1_000) { _ in }
        queue.addOperation(quick)
        await quick.finished()
        let operation = Numbers(100) { number in
            if number == 0 { #expect(last.wait()) }
            ran.record(number)
            if ran.events.count == 99 { last.send() }
        }
        queue.addOperation(operation)
        await operation.finished()
        #expect(ran.events.count == 100 && ran.events.last == 0)
    }

    @Test(arguments: [Operation.QueuePriority.low, .normal, .high])
    func entriesGiveWayToAHigherPriority(priority: Operation.QueuePriority) async {
        let ran = ran
        let other = BlockOperation { ran.record(99) }
        other.queuePriority = priority
        let operation = Numbers(3) { [queue] number in
            if number == 0 { queue.addOperation(other) }
            ran.record(number)
        }
        queue.addOperation(operation)
        await operation.finished()
        await other.finished()
        #expect(ran.events == (priority == .high ? [0, 99, 1, 2] : [0, 1, 2, 99]))
    }

    @Test func aSuspendedQueueKeepsTheEntries() async {
        let ran = ran
        let suspended = Signal()
        let operation = Numbers(2) { [queue] number in
            ran.record(number)
            guard number == 0 else { return }
            queue.isSuspended = true
            suspended.send()
        }
        queue.addOperation(operation)
        #expect(suspended.wait())
        #expect(!operation.isFinished && queue.operationCount == 1)
        queue.isSuspended = false
        await operation.finished()
        #expect(ran.events == [0, 1])
    }

    @Test func theFirstOperationOfAPriorityGoesOnFirst() throws {
        let operations = (0..<3).map { _ in Numbers(1) { _ in } }
        var state = QueueState()
        for operation in operations { _ = state.add(operation, to: queue) }
        operations[2].queuePriority = .high
        var sources = ReadySources()
        for operation in operations.reversed() { sources.insert(try #require(operation.source)) }
        for index in [2, 0, 1] {
            let first = try #require(sources.first(nil))
            let source = first.source.takeUnretainedValue()
            #expect(source.operation === operations[index])
            #expect(first.lane == operations[index].status.lane)
            sources.remove(source)
        }
        #expect(sources.isEmpty && sources.first(nil) == nil && sources.highestUrgency == nil)
    }
}

/// An operation that has an entry for each number.
///
/// Unchecked because its superclass is. Only `init` sets the variable.
private final class Numbers: TypedOperation<Void>, @unchecked Sendable {
    private(set) var source: NumberSource?

    init(_ count: UInt32, then body: @escaping @Sendable (UInt32) -> Void) {
        super.init(body: {})
        source = NumberSource(of: self, count, body)
        useFastPath(.asynchronous)
    }

    override func runBeyondClaim(_ claim: Claim, in queue: OperationQueue) -> Entry? {
        queue.eventOffering { [source] state in
            state.detachLast(from: claim).release()
            if let source { state.ready.sources.insert(source) }
        }
        return nil
    }
}

/// Unchecked: the queue's lock guards the variables.
private final class NumberSource: EntrySource, @unchecked Sendable {
    private var ready: [UInt32]
    private var unfinished: Int
    private var claimCount = 0
    private let body: @Sendable (UInt32) -> Void

    init(of operation: Numbers, _ count: UInt32, _ body: @escaping @Sendable (UInt32) -> Void) {
        (ready, unfinished, self.body) = (Array(0..<count), Int(count), body)
        super.init(of: operation)
    }

    override func fill(_ filling: inout Claim.Filling, in state: inout QueueState, cores: Int) {
        let size = min(state.claimSize(of: ready.count, cores: cores), ready.count)
        for number in ready.prefix(size) { filling.append(number: number) }
        ready.removeFirst(size)
        if ready.isEmpty { state.ready.sources.remove(self) }
        claimCount += 1
    }

    override func takeBack(from claim: Claim, in state: inout QueueState) {
        var rest: [UInt32] = []
        claim.reclaimRest { entry, _ in entry.number.map { rest.append($0) } }
        guard !rest.isEmpty else { return }
        if ready.isEmpty { state.ready.sources.insert(self) }
        ready = rest + ready
    }

    override func retired(_ claim: Claim, in state: inout QueueState) -> Bool {
        unfinished -= claim.sourceWords.endedCount
        claimCount -= 1
        return claimCount == 0 && unfinished == 0
    }

    override func run(_ claim: Claim, in queue: OperationQueue, context: ThreadContext) {
        context.inside(operation, of: queue) {
            let thread = context.placeOfOperationState
            while let number = queue.takeNext(from: claim, context: context)?.number {
                thread.pointee.blockClaim = Unmanaged.passUnretained(claim).toOpaque()
                claim.sourceWords.running.store(number, ordering: .relaxed)
                body(number)
                if thread.pointee.blockClaim == nil {
                    context.leaveEntry()?.takeRetainedValue().finish()
                }
                claim.sourceWords.countEnded(1)
            }
            thread.pointee.blockClaim = nil
        }
    }

    override func enterOperation(
        of claim: Claim, in queue: OperationQueue, context: ThreadContext
    ) {
        let entry = Operation()
        entry.useFastPath()
        entry.name = "number \(claim.sourceWords.running.load(ordering: .relaxed))"
        _ = entry.exchange { $0.enqueued() }
        _ = entry.exchange { $0.begunOnFastPath() }
        _ = entry.exchange { $0.detachedFromClaim(holdsSlot: true) }
        entry.queueReference.store(.passUnretained(queue), ordering: .releasing)
        context.enterEntry(.passRetained(entry))
    }

    override func end() { operation.bodyReturned() }
}
