import Operations
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

/// The throwing twins of all calls that trap: decision 3, and rows M8, O4, O17, O18, Q1, Q6, Q16
/// and BO2.
///
/// A call that throws must change nothing.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct CheckedContractTests {
    private func expect(
        _ message: String?, says words: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for word in words {
            #expect(message?.contains(word) == true, sourceLocation: sourceLocation)
        }
    }

    @Test("O4: starting an unready operation throws, and it can be started once it is ready")
    func startingAnUnreadyOperationThrows() throws {
        let (download, filter) = (named("download"), named("filter"))
        filter.addDependency(download)
        expect(Checked.message { try Checked.start(filter) }, says: "'filter'", "'download'")
        #expect(!filter.isFinished && !filter.isExecuting)
        try Checked.start(download)
        try Checked.start(filter)
        #expect(filter.isFinished)
    }

    @Test("O4: starting an operation that is in a queue throws, and the queue still starts it")
    func startingAnEnqueuedOperationThrows() async {
        let queue = suspendedQueue()
        let filter = named("filter")
        queue.addOperation(filter)
        expect(Checked.message { try Checked.start(filter) }, says: "'filter'", "queue")
        queue.isSuspended = false
        await queue.drain()
        #expect(filter.isFinished)
    }

    @Test("O4: starting an executing operation throws, inside the operation and on another thread")
    func startingAnExecutingOperationThrows() async {
        let messages = TestRecorder<String?>()
        let filter = BlockOperation()
        filter.name = "filter"
        filter.addExecutionBlock { [unowned filter] in
            messages.record(Checked.message { try Checked.start(filter) })
            let done = Signal()
            startTestThread { [unowned filter] in
                messages.record(Checked.message { try Checked.start(filter) })
                done.send()
            }
            done.wait()
        }
        await onThread { filter.start() }
        #expect(messages.events.count == 2)
        for message in messages.events { expect(message, says: "'filter'", "executing") }
    }

    @Test(
        "O3, O6: starting a finished operation does nothing; starting a cancelled one finishes it")
    func startingAFinishedOrCancelledOperationIsAllowed() throws {
        let runs = Tally()
        let operation = BlockOperation { runs.increment() }
        try Checked.start(operation)
        try Checked.start(operation)
        let cancelled = BlockOperation { runs.increment() }
        cancelled.cancel()
        try Checked.start(cancelled)
        #expect(runs.value == 1)
        #expect(cancelled.isFinished)
    }

    @Test("O4: if many threads start one operation, one succeeds and the others get the error")
    func oneOfManyConcurrentStartsSucceeds() async {
        for _ in 0..<100 {
            let (runs, errors, proceed) = (Tally(), Tally(), Signal())
            let operation = BlockOperation {
                runs.increment()
                proceed.wait()
            }
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        await onThread {
                            guard Checked.message({ try Checked.start(operation) }) != nil else {
                                return
                            }
                            if errors.increment() == 3 { proceed.send() }
                        }
                    }
                }
            }
            #expect(runs.value == 1)
            #expect(errors.value == 3)
        }
    }

    @Test("Q1: adding an operation that is in a queue, executes or has finished throws")
    func addingAnOperationThatIsNotNewThrows() async throws {
        let (queue, other) = (suspendedQueue(), OperationQueue())
        let (enqueued, finished) = (named("a"), named("b"))
        let (began, proceed) = (Signal(), Signal())
        let executing = BlockOperation {
            began.send()
            proceed.wait()
        }
        executing.name = "c"
        OperationQueue().addOperation(executing)
        #expect(await began.arrives())
        try Checked.add(enqueued, to: queue)
        finished.start()
        expect(Checked.message { try Checked.add(enqueued, to: other) }, says: "'a'", "in a queue")
        expect(Checked.message { try Checked.add(enqueued, to: queue) }, says: "'a'", "in a queue")
        expect(Checked.message { try Checked.add(finished, to: other) }, says: "'b'", "finished")
        expect(Checked.message { try Checked.add(executing, to: other) }, says: "'c'", "executing")
        #expect(other.operationCount == 0)
        #expect(queue.operations == [enqueued])
        proceed.send()
        queue.isSuspended = false
        await queue.drain()
    }

    @Test("Q1: an array is added whole or not at all; an operation listed twice is an error")
    func arraysAreAllOrNothing() async throws {
        let (queue, other) = (OperationQueue(), suspendedQueue())
        let (a, b, taken) = (named("a"), named("b"), named("taken"))
        try Checked.add(taken, to: other)
        expect(
            Checked.message { try Checked.add([a, b, taken], to: queue) }, says: "'taken'", "queue")
        expect(Checked.message { try Checked.add([a, b, a], to: queue) }, says: "'a'")
        #expect(queue.operationCount == 0)
        #expect(!a.isFinished && !b.isFinished)
        try Checked.add([a, b], to: queue)
        try Checked.add([], to: queue)
        await queue.drain()
        #expect(a.isFinished && b.isFinished && !taken.isFinished)
        other.isSuspended = false
        await other.drain()
    }

    @Test("Q1, Q2: a cancelled operation may be added")
    func addingACancelledOperationIsAllowed() async throws {
        let queue = OperationQueue()
        let operation = Operation()
        operation.cancel()
        try Checked.add(operation, to: queue)
        await queue.drain()
        #expect(operation.isFinished)
    }

    @Test("O17: making an operation depend on itself throws")
    func selfDependencyThrows() {
        let filter = named("filter")
        expect(Checked.message { try Checked.addDependency(filter, to: filter) }, says: "'filter'")
        #expect(filter.dependencies == [])
        #expect(filter.isReady)
    }

    @Test("O18, decision 3: an edge that closes a cycle is rejected, and the error names the cycle")
    func edgeThatClosesACycleThrows() async throws {
        let (download, decode, resize) = (named("download"), named("decode"), named("resize"))
        try Checked.addDependency(download, to: decode)
        try Checked.addDependency(decode, to: resize)
        expect(
            Checked.message { try Checked.addDependency(resize, to: download) },
            says: "'download' → 'resize' → 'decode' → 'download'")
        #expect(download.dependencies == [])
        #expect(download.isReady)
        await OperationQueue().addOperations([resize, decode, download], waitUntilFinished: true)
    }

    @Test(
        "O18: of random edges, only those that close a cycle are rejected",
        arguments: contractSeeds)
    func onlyEdgesThatCloseACycleAreRejected(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        for _ in 0..<max(5, 40 / slowness) {
            let operations = (0..<20).map { named("\($0)") }
            /// `reaches[a]` contains all operations that `a` waits for, and `a` itself.
            var reaches = operations.indices.map { Set([$0]) }
            for _ in 0..<100 {
                let from = Int.random(in: operations.indices, using: &random)
                let to = Int.random(in: operations.indices, using: &random)
                let message = Checked.message {
                    try Checked.addDependency(operations[to], to: operations[from])
                }
                let closes = reaches[to].contains(from)
                #expect((message != nil) == closes, "seed \(seed): \(message ?? "no error")")
                guard !closes else { continue }
                for index in operations.indices where reaches[index].contains(from) {
                    reaches[index].formUnion(reaches[to])
                }
            }
            // This would not end if an accepted edge closed a cycle.
            await OperationQueue().addOperations(operations, waitUntilFinished: true)
        }
    }

    @Test("BO2: adding a block after the start throws, and the block does not run")
    func addingABlockAfterTheStartThrows() {
        let runs = Tally()
        let operation = BlockOperation { runs.increment() }
        operation.name = "filter"
        operation.start()
        expect(
            Checked.message { try Checked.addBlock({ runs.increment() }, to: operation) },
            says: "'filter'", "before it starts")
        #expect(operation.executionBlocks.count == 1)
        #expect(runs.value == 1)
    }

    @Test(
        "BO2: of blocks added during a start, each accepted one runs once and no rejected one runs")
    func blocksAddedDuringAStartRunOnceOrAreRejected() async {
        for _ in 0..<500 {
            let (runs, accepted) = (Tally(), Tally())
            let operation = BlockOperation()
            OperationQueue().addOperation(operation)
            for _ in 0..<20 {
                let message = Checked.message {
                    try Checked.addBlock({ runs.increment() }, to: operation)
                }
                if message == nil { accepted.increment() }
            }
            await operation.waitUntilFinished()
            #expect(runs.value == accepted.value)
        }
    }

    @Test(
        "Q6: a negative width throws and leaves the width unchanged",
        arguments: [-2, -100, Int.min])
    func negativeWidthThrowsAndChangesNothing(width: Int) throws {
        let queue = OperationQueue()
        queue.name = "Download queue"
        try Checked.setWidth(3, of: queue)
        expect(
            Checked.message { try Checked.setWidth(width, of: queue) },
            says: "Download queue", "\(width)")
        #expect(queue.maxConcurrentOperationCount == 3)
        try Checked.setWidth(-1, of: queue)
        #expect(queue.maxConcurrentOperationCount == -1)
    }

    @Test("Decision 3: errors about the same misuse have equal kinds; others have different kinds")
    func errorKindsAreComparable() throws {
        func error(_ body: () throws -> Void) -> Checked.Misuse? {
            do { try body() } catch { return error as? Checked.Misuse }
            return nil
        }
        let finished = named("filter")
        finished.start()
        let first = error { try Checked.add(finished, to: OperationQueue()) }
        let second = error { try Checked.add(finished, to: OperationQueue()) }
        let other = error { try Checked.addDependency(finished, to: finished) }
        #expect(first != nil && other != nil)
        #expect(first?.kind == second?.kind)
        #expect(first?.kind != other?.kind)
    }
}
