import Dispatch
import OperationsRuntime
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct UnfinishedQueuesTests {
    /// Finds a queue in the list that `unfinishedQueues()` is made from. That function would also
    /// explain the queues of all tests that run meanwhile, which can hold many operations.
    private func entry(
        where isSought: (OperationQueue) -> Bool
    ) -> OperationsDiagnostics.UnfinishedQueue? {
        QueueRegistry.unfinished.first { isSought($0.queue) }
            .map(OperationsDiagnostics.UnfinishedQueue.init)
    }

    private func entry(of queue: OperationQueue) -> OperationsDiagnostics.UnfinishedQueue? {
        entry { $0 === queue }
    }

    @Test func allQueuesAreListed() async {
        await #expect(processExitsWith: .success) {
            let queues = ["Uploads", "Thumbnails"].map { name in
                let queue = suspendedQueue()
                queue.name = name
                queue.addOperation {}
                return queue
            }
            let unfinished = OperationsDiagnostics.unfinishedQueues()
            let areInOrder = unfinished.map(\.queue) == queues
            for queue in queues { queue.cancelAllOperations() }
            exit(areInOrder && unfinished.allSatisfy(\.isStuck) ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test func emptyQueuesAreNotListed() async {
        let queue = OperationQueue()
        #expect(entry(of: queue) == nil)
        await queue.addOperations([BlockOperation {}], waitUntilFinished: true)
        await queue.drain()
        #expect(entry(of: queue) == nil)
    }

    @Test func queueThatDeadlineOrGroupWillEndIsNotStuck() async {
        let late = suspendedQueue()
        late.add(.deadline(in: .seconds(3600))) {}
        #expect(entry(of: late)?.isStuck == false)
        late.cancelAllOperations()

        let (serial, waiting) = (serialQueue(), OperationQueue())
        let (began, proceed) = (Signal(), Signal())
        serial.addOperation {
            began.send()
            proceed.wait()
        }
        #expect(await began.arrives())
        let member = BlockOperation {}
        serial.addOperation(GroupOperation("group") { member })
        let next = BlockOperation {}
        next.addDependency(member)
        waiting.addOperation(next)
        #expect(entry(of: waiting)?.isStuck == false)
        proceed.send()
        await waiting.drain()
    }

    @Test func suspendedQueueIsListedWithReason() async {
        let queue = suspendedQueue()
        queue.name = "Uploads"
        queue.addOperation(Operation())
        let found = entry(of: queue)
        #expect(found?.isStuck == true && found?.isAbandoned == false)
        #expect(found?.description.contains("queue 'Uploads' is suspended") == true)
        #expect(found?.description.contains("It cannot go on by itself.") == true)
        queue.isSuspended = false
        await queue.drain()
    }

    @Test func queueThatWaitsForRunningOperationIsNotStuck() async {
        let (queue, other) = (OperationQueue(), OperationQueue())
        let (began, mayEnd) = (Signal(), Signal())
        let first = BlockOperation {
            began.send()
            mayEnd.wait()
        }
        let second = Operation()
        second.addDependency(first)
        other.addOperation(first)
        queue.addOperation(second)
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                began.wait()
                continuation.resume()
            }
        }
        #expect(entry(of: queue)?.isStuck == false)
        #expect(entry(of: other)?.isStuck == false)
        mayEnd.send()
        await queue.drain()
    }

    @Test func abandonedQueueIsRecognized() async {
        let name = "abandoned \(UInt64.random(in: 0 ... .max))"
        do {
            let queue = suspendedQueue()
            queue.name = name
            queue.addOperation(Operation())
        }
        func entry() -> OperationsDiagnostics.UnfinishedQueue? {
            self.entry { $0.name == name }
        }
        // A worker or another test may have a reference for a moment, and an entry is a reference
        // itself. So all values come from one entry, which is released before the next one.
        var seen = entry()
        while seen?.isAbandoned == false {
            seen = nil
            await Task.yield()
            seen = entry()
        }
        #expect(seen?.isStuck == true)
        let report = seen.flatMap { OperationsDiagnostics.report(on: [$0.queue]) }
        #expect(report?.contains(name) == true)
        #expect(report?.contains("nobody has a reference to this queue any more") == true)
        // Removes the queue from the list of this process.
        let queue = seen?.queue
        queue?.isSuspended = false
        await queue?.drain()
        #expect(entry() == nil)
    }

    @Test func abandonedQueuesAreReportedAtExit() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent])
        {
            OperationsDiagnostics.reportsUnfinishedQueuesAtExit = true
            let kept = OperationQueue()
            kept.isSuspended = true
            kept.name = "kept"
            kept.addOperation(Operation())
            Kept.queue.withLock { $0 = kept }
            loseQueue()
            exit(EXIT_SUCCESS)
        }
        let text = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
        #expect(text.contains("queue 'lost' is suspended and holds 1 operation"), "\(text)")
        #expect(text.contains("'upload' is ready, but queue 'lost' is suspended"), "\(text)")
        #expect(!text.contains("'kept'"), "\(text)")
    }

    @Test func reportAtExitCanBeTurnedOff() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent])
        {
            OperationsDiagnostics.reportsUnfinishedQueuesAtExit = false
            loseQueue()
            exit(EXIT_SUCCESS)
        }
        let text = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
        #expect(!text.contains("Operations:"), "\(text)")
    }

    @Test func queuesMayComeAndGoDuringListing() async {
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<300 {
                        let queue = OperationQueue()
                        queue.addOperation {}
                    }
                }
            }
            group.addTask {
                for _ in 0..<100 { _ = QueueRegistry.unfinished }
            }
        }
    }

    @Test func lastReferenceMayGoDuringLookUp() async {
        final class Round: Sendable {
            let entry = Locked<QueueRegistry.Entry?>(nil)
            let isOver = Atomic(false)
        }
        let round = Round()
        await withTaskGroup { group in
            group.addTask {
                for _ in 0..<50_000 {
                    let queue = OperationQueue()
                    let entry = QueueRegistry.entry(of: queue)
                    round.entry.withLock { $0 = entry }
                }
                round.isOver.store(true, ordering: .releasing)
            }
            group.addTask {
                while !round.isOver.load(ordering: .acquiring) {
                    _ = round.entry.withLock { $0 }?.queue?.operationCount
                }
            }
        }
    }

    @Test func queueIsNotFoundInItsDeinit() async {
        final class Queue: OperationQueue, @unchecked Sendable {
            let report: @Sendable (OperationQueue?) -> Void

            init(_ report: @escaping @Sendable (OperationQueue?) -> Void) {
                self.report = report
                super.init()
            }

            deinit {
                let entry = QueueRegistry.entry(of: self)
                report(entry.queue)
                _ = QueueRegistry.unfinished
            }
        }
        let (wasFound, isGone) = (Tally(), Tally())
        do {
            let queue = Queue { found in
                if found != nil { wasFound.increment() }
                isGone.increment()
            }
            #expect(QueueRegistry.entry(of: queue).queue === queue)
        }
        // A listing of another test may still hold the queue.
        #expect(await comesTrue { isGone.value == 1 })
        #expect(wasFound.value == 0)
    }
}

private enum Kept {
    static let queue = Locked<OperationQueue?>(nil)
}

private func loseQueue() {
    let lost = suspendedQueue()
    lost.name = "lost"
    let upload = Operation()
    upload.name = "upload"
    lost.addOperation(upload)
}
