import Operations
import TestSupport
import Testing

/// Why is this not running? Each reason is named, and the names of all that it depends on: O11,
/// O18, O32, Q6, Q9, Q10, and decision 2.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ExplainContractTests {
    private func expect(
        _ explanation: some CustomStringConvertible, says words: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for word in words {
            #expect(
                explanation.description.contains(word), "said: \(explanation)",
                sourceLocation: sourceLocation)
        }
    }

    private func suspended(named name: String) -> OperationQueue {
        let queue = suspendedQueue()
        queue.name = name
        return queue
    }

    @Test("One that is in no queue")
    func inNoQueue() {
        expect(named("filter").explain(), says: "'filter'", "in no queue")
    }

    @Test("O11: one that waits for an operation that is in no queue, cancelled or not")
    func waitingForOneInNoQueue() {
        let queue = suspended(named: "Filters")
        let (download, filter) = (named("download"), named("filter"))
        filter.addDependency(download)
        queue.addOperation(filter)
        expect(filter.explain(), says: "'filter'", "'download'", "in no queue")
        download.cancel()
        expect(filter.explain(), says: "'filter'", "'download'", "in no queue", "cancelled")
        queue.cancelAllOperations()
    }

    @Test("One that waits for an operation that executes in another queue")
    func waitingForOneThatExecutes() async {
        let (downloads, filters) = (OperationQueue(), OperationQueue())
        downloads.name = "Downloads"
        let (began, goOn) = (Signal(), Signal())
        let download = BlockOperation {
            began.send()
            goOn.wait()
        }
        download.name = "download"
        let filter = named("filter")
        filter.addDependency(download)
        filters.addOperation(filter)
        downloads.addOperation(download)
        await onThread { _ = began.wait() }
        expect(filter.explain(), says: "'filter'", "'download'", "executing", "Downloads")
        expect(download.explain(), says: "'download'", "executing", "Downloads")
        goOn.send()
        await filters.drain()
        expect(filter.explain(), says: "'filter'", "finished")
    }

    @Test("Q9: one in a suspended queue")
    func inASuspendedQueue() async {
        let queue = suspended(named: "Filters")
        let filter = named("filter")
        queue.addOperation(filter)
        expect(filter.explain(), says: "'filter'", "Filters", "suspended")
        expect(queue.explain(), says: "Filters", "suspended")
        queue.isSuspended = false
        await queue.drain()
    }

    @Test("Q6: one that waits for a slot, with the names of those that have them")
    func waitingForASlot() async {
        let queue = OperationQueue()
        queue.name = "Filters"
        queue.maxConcurrentOperationCount = 2
        let (began, goOn) = (Signal(), Signal())
        for name in ["sepia", "blur"] {
            let operation = BlockOperation {
                began.send()
                goOn.wait()
            }
            operation.name = name
            queue.addOperation(operation)
        }
        await onThread { _ = began.wait() && began.wait() }
        let filter = named("filter")
        queue.addOperation(filter)
        expect(filter.explain(), says: "'filter'", "2 of 2", "'sepia'", "'blur'")
        expect(queue.explain(), says: "Filters", "2 of 2", "'sepia'", "'blur'")
        goOn.send()
        goOn.send()
        await queue.drain()
    }

    @Test("Q6: one in a queue of width zero")
    func inAQueueOfWidthZero() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 0
        let filter = named("filter")
        queue.addOperation(filter)
        expect(filter.explain(), says: "'filter'", "maxConcurrentOperationCount", "0")
        queue.maxConcurrentOperationCount = 1
        await queue.drain()
    }

    @Test("O32: one whose isReady override says no")
    func heldBackByAnOverride() async {
        final class Never: Operation, @unchecked Sendable {
            override var isReady: Bool { false }
        }
        let queue = OperationQueue()
        let filter = Never()
        filter.name = "filter"
        queue.addOperation(filter)
        expect(filter.explain(), says: "'filter'", "isReady")
        filter.cancel()
        await queue.drain()
    }

    @Test("Q10: one behind a barrier")
    func behindABarrier() async {
        let queue = OperationQueue()
        let gate = Operation()
        let first = named("first")
        first.addDependency(gate)
        queue.addOperation(first)
        queue.addBarrierBlock {}
        let filter = named("filter")
        queue.addOperation(filter)
        expect(filter.explain(), says: "'filter'", "barrier")
        gate.start()
        await queue.drain()
    }

    @Test("O18: members of a cycle, named in full")
    func inACycle() async {
        await #expect(processExitsWith: .success) {
            OperationsDiagnostics.handler = { _ in }
            let (download, decode) = (named("download"), named("decode"))
            decode.addDependency(download)
            download.addDependency(decode)
            let explanation = download.explain().description
            #expect(explanation.contains("'download' → 'decode' → 'download'"))
            download.cancel()
        }
    }

    @Test("A queue with nothing in it says so; one with work counts what it holds")
    func queues() async {
        let queue = suspended(named: "Filters")
        expect(queue.explain(), says: "Filters", "empty")
        for name in ["sepia", "blur"] { queue.addOperation(named(name)) }
        expect(queue.explain(), says: "Filters", "2 operations", "'sepia'")
        queue.isSuspended = false
        await queue.drain()
    }

    @Test("A long chain is explained without recursion")
    func aLongChain() async {
        let length = 200_000 / slowness
        let explanation = await onThread(stackSize: 256 * 1024) {
            var last = named("first")
            for index in 1..<length {
                let next = named("\(index)")
                next.addDependency(last)
                last = next
            }
            return last.explain().description
        }
        expect(explanation, says: "'\(length - 1)'", "'\(length - 2)'")
    }
}
