import Operations
import OperationsTestKit
import TestSupport
import Testing

/// The throwing twins of everything that traps: decision 3, M8, and O4, O17, O18, Q1, Q6, Q16, BO2.
///
/// After each error everything must be as if the call had not been made.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct CheckedContractTests {
    private func expect(
        _ message: String?, says words: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for word in words {
            #expect(message?.contains(word) == true, sourceLocation: sourceLocation)
        }
    }

    @Test("O4: starting what is not ready throws, and it can be started when it is")
    func startingTheUnready() throws {
        let (download, filter) = (named("download"), named("filter"))
        filter.addDependency(download)
        expect(Checked.message { try Checked.start(filter) }, says: "'filter'", "'download'")
        #expect(!filter.isFinished && !filter.isExecuting)
        try Checked.start(download)
        try Checked.start(filter)
        #expect(filter.isFinished)
    }

    @Test("O4: starting what is in a queue throws, and the queue starts it")
    func startingTheEnqueued() async {
        let queue = suspendedQueue()
        let filter = named("filter")
        queue.addOperation(filter)
        expect(Checked.message { try Checked.start(filter) }, says: "'filter'", "queue")
        queue.isSuspended = false
        await queue.drain()
        #expect(filter.isFinished)
    }

    @Test("O4: starting what executes throws, inside itself and on another thread")
    func startingTheExecuting() async {
        let messages = Recorder<String?>()
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

    @Test("O3, O6: starting what has finished does nothing; what was cancelled finishes")
    func startingTheFinishedAndTheCancelled() throws {
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

    @Test("O4: of many threads that start one operation, one does and the others get the error")
    func startingFromManyThreads() async {
        for _ in 0..<100 {
            let (runs, errors, goOn) = (Tally(), Tally(), Signal())
            let operation = BlockOperation {
                runs.increment()
                goOn.wait()
            }
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        await onThread {
                            guard Checked.message({ try Checked.start(operation) }) != nil else {
                                return
                            }
                            if errors.increment() == 3 { goOn.send() }
                        }
                    }
                }
            }
            #expect(runs.value == 1)
            #expect(errors.value == 3)
        }
    }

    @Test("Q1: adding what is in a queue, executes or has finished throws")
    func addingWhatCannotBeAdded() async throws {
        let (queue, other) = (suspendedQueue(), OperationQueue())
        let (enqueued, finished, executing) = (named("a"), named("b"), StateKeepingOperation())
        executing.name = "c"
        try Checked.add(enqueued, to: queue)
        finished.start()
        executing.start()
        expect(Checked.message { try Checked.add(enqueued, to: other) }, says: "'a'", "in a queue")
        expect(Checked.message { try Checked.add(enqueued, to: queue) }, says: "'a'", "in a queue")
        expect(Checked.message { try Checked.add(finished, to: other) }, says: "'b'", "finished")
        expect(Checked.message { try Checked.add(executing, to: other) }, says: "'c'", "executing")
        #expect(other.operationCount == 0)
        #expect(queue.operations == [enqueued])
        queue.isSuspended = false
        await queue.drain()
    }

    @Test("Q1: an array is added whole or not at all; one given twice counts as an error")
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

    @Test("Q1, Q2: what was cancelled may be added")
    func addingTheCancelled() async throws {
        let queue = OperationQueue()
        let operation = Operation()
        operation.cancel()
        try Checked.add(operation, to: queue)
        await queue.drain()
        #expect(operation.isFinished)
    }

    @Test("O17: depending on itself throws")
    func dependingOnItself() {
        let filter = named("filter")
        expect(Checked.message { try Checked.addDependency(filter, to: filter) }, says: "'filter'")
        #expect(filter.dependencies == [])
        #expect(filter.isReady)
    }

    @Test("O18, decision 3: an edge that closes a cycle is refused, named in full, and not there")
    func closingACycle() async throws {
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
        "O18: of random edges those that close a cycle are refused, and no others",
        arguments: contractSeeds)
    func randomEdges(seed: UInt64) async throws {
        var random = SeededGenerator(state: seed)
        for _ in 0..<20 {
            let operations = (0..<20).map { named("\($0)") }
            /// `reaches[a]` has all that `a` waits for, itself included.
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
            // If one of them had closed a cycle, this would not end.
            await OperationQueue().addOperations(operations, waitUntilFinished: true)
        }
    }

    @Test("BO2: a block that comes too late throws, and does not run")
    func addingABlockTooLate() {
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
        "BO2: against a start at the same time, each accepted block runs once, each refused one never"
    )
    func addingBlocksAgainstAStart() async {
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

    @Test("Q6: a negative width throws, and the width stays", arguments: [-2, -100, Int.min])
    func aNegativeWidth(width: Int) throws {
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

    @Test("Decision 3: errors of one kind about the same are equal, of different kinds are not")
    func errorsAreComparable() throws {
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
