import Operations
import OperationsTestSupport
import Testing

/// Explanations of why an operation does not run. They give the reason and the names of all
/// operations behind it: rows O11, O18, O32, Q6, Q9 and Q10, and decision 2.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ExplainContractTests {
    private func expect(
        _ explanation: some CustomStringConvertible, says words: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for word in words {
            #expect(
                explanation.description.contains(word), "explanation: \(explanation)",
                sourceLocation: sourceLocation)
        }
    }

    private func suspended(named name: String) -> OperationQueue {
        let queue = suspendedQueue()
        queue.name = name
        return queue
    }

    @Test("The explanation says that an operation is in no queue")
    func explanationSaysThatAnOperationIsInNoQueue() {
        expect(named("filter").explain(), says: "'filter'", "in no queue")
    }

    @Test("O11: the explanation names a dependency that is in no queue, cancelled or not")
    func explanationNamesADependencyInNoQueue() {
        let queue = suspended(named: "Filters")
        let (download, filter) = (named("download"), named("filter"))
        filter.addDependency(download)
        queue.addOperation(filter)
        expect(filter.explain(), says: "'filter'", "'download'", "in no queue")
        download.cancel()
        expect(filter.explain(), says: "'filter'", "'download'", "in no queue", "cancelled")
        queue.cancelAllOperations()
    }

    @Test("The explanation names a dependency that executes in another queue")
    func explanationNamesAnExecutingDependency() async {
        let (downloads, filters) = (OperationQueue(), OperationQueue())
        downloads.name = "Downloads"
        let (began, proceed) = (Signal(), Signal())
        let download = BlockOperation {
            began.send()
            proceed.wait()
        }
        download.name = "download"
        let filter = named("filter")
        filter.addDependency(download)
        filters.addOperation(filter)
        downloads.addOperation(download)
        await onThread { _ = began.wait() }
        expect(filter.explain(), says: "'filter'", "'download'", "executing", "Downloads")
        expect(download.explain(), says: "'download'", "executing", "Downloads")
        proceed.send()
        await filters.drain()
        expect(filter.explain(), says: "'filter'", "finished")
    }

    @Test("Q9: the explanation says that the queue is suspended")
    func explanationSaysThatTheQueueIsSuspended() async {
        let queue = suspended(named: "Filters")
        let filter = named("filter")
        queue.addOperation(filter)
        expect(filter.explain(), says: "'filter'", "Filters", "suspended")
        expect(queue.explain(), says: "Filters", "suspended")
        queue.isSuspended = false
        await queue.drain()
    }

    @Test("Q6: the explanation names the operations that hold the slots")
    func explanationNamesTheOperationsThatHoldTheSlots() async {
        let queue = OperationQueue()
        queue.name = "Filters"
        queue.maxConcurrentOperationCount = 2
        let (began, proceed) = (Signal(), Signal())
        for name in ["sepia", "blur"] {
            let operation = BlockOperation {
                began.send()
                proceed.wait()
            }
            operation.name = name
            queue.addOperation(operation)
        }
        await onThread { _ = began.wait() && began.wait() }
        let filter = named("filter")
        queue.addOperation(filter)
        expect(filter.explain(), says: "'filter'", "2 of 2", "'sepia'", "'blur'")
        expect(queue.explain(), says: "Filters", "2 of 2", "'sepia'", "'blur'")
        proceed.send()
        proceed.send()
        await queue.drain()
    }

    @Test("Q6: the explanation says that the width of the queue is zero")
    func explanationSaysThatTheWidthIsZero() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 0
        let filter = named("filter")
        queue.addOperation(filter)
        expect(filter.explain(), says: "'filter'", "maxConcurrentOperationCount", "0")
        queue.maxConcurrentOperationCount = 1
        await queue.drain()
    }

    @Test("O32: the explanation mentions an isReady override that returns false")
    func explanationMentionsAnIsReadyOverride() async {
        final class Gated: Operation, @unchecked Sendable {
            let opened = Tally()
            override var isReady: Bool { super.isReady && opened.value > 0 }
        }
        let queue = OperationQueue()
        let filter = Gated()
        filter.name = "filter"
        queue.addOperation(filter)
        expect(filter.explain(), says: "'filter'", "isReady")
        filter.cancel()
        expect(filter.explain(), says: "'filter'", "isReady", "cancelled")
        filter.opened.increment()
        filter.didChangeValue(forKey: "isReady")
        await queue.drain()
    }

    @Test("Q10: the explanation mentions the barrier before an operation")
    func explanationMentionsABarrier() async {
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

    @Test("O18: the explanation names all members of a cycle")
    func explanationNamesAllMembersOfACycle() async {
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

    @Test("The explanation of a queue says that it is empty, or counts its operations")
    func queueExplanationCountsItsOperations() async {
        let queue = suspended(named: "Filters")
        expect(queue.explain(), says: "Filters", "empty")
        for name in ["sepia", "blur"] { queue.addOperation(named(name)) }
        expect(queue.explain(), says: "Filters", "2 operations", "'sepia'")
        queue.isSuspended = false
        await queue.drain()
    }

    @Test("A long chain is explained without recursion")
    func longChainIsExplainedWithoutRecursion() async {
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
