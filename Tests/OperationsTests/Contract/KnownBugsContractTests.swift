import Operations
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

/// Bugs and costs of other implementations that this one must not have: rows B1–B20, and the parts
/// of rows P1–P8 that can be counted, so that no test fails because a machine is slow.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct KnownBugsContractTests {
    // MARK: Bugs

    @Test("B1: removing a finished dependency from a cancelled operation corrupts no counter")
    func removingAFinishedDependencyCorruptsNoCounter() async {
        let (finished, unfinished, operation) = (Operation(), Operation(), Operation())
        operation.addDependency(finished)
        operation.addDependency(unfinished)
        finished.start()
        operation.cancel()
        operation.removeDependency(finished)
        operation.removeDependency(unfinished)
        operation.addDependency(unfinished)
        #expect(operation.isReady)
        await OperationQueue().addOperations([operation], waitUntilFinished: true)
        unfinished.start()
        #expect(operation.isFinished)
    }

    @Test("B1: a dependency removed at the moment it finishes leaves the dependent ready")
    func dependencyRemovedAsItFinishesLeavesDependentReady() async {
        let (first, second) = (OperationQueue(), OperationQueue())
        for _ in 0..<1_000 {
            let (dependency, operation) = (BlockOperation {}, BlockOperation {})
            operation.addDependency(dependency)
            second.addOperation(operation)
            first.addOperation(dependency)
            operation.removeDependency(dependency)
            await second.drain()
        }
        await first.drain()
    }

    @Test("B2: a dependent that was cancelled, finished and released does not harm its dependency")
    func releasedDependentDoesNotHarmItsDependency() async {
        let releases = Tally()
        let queue = OperationQueue()
        let dependency = Operation()
        for _ in 0..<100 {
            let token = Token(releases)
            let dependent = BlockOperation { withExtendedLifetime(token) {} }
            dependent.addDependency(dependency)
            queue.addOperation(dependent)
            dependent.cancel()
        }
        await queue.drain()
        #expect(await comesTrue { releases.value == 100 })
        dependency.start()
        #expect(dependency.isFinished)
    }

    @Test("B2: dependents may be released while their dependency finishes")
    func dependentsMayBeReleasedAsTheirDependencyFinishes() async {
        for _ in 0..<300 {
            let dependency = BlockOperation {}
            var dependents = (0..<20).map { _ in Operation() }
            for dependent in dependents { dependent.addDependency(dependency) }
            OperationQueue().addOperation(dependency)
            dependents = []
            await dependency.waitUntilFinished()
        }
    }

    @Test("B4: a queue continues after an operation finished before the queue started it")
    func queueContinuesAfterAnOperationFinishesEarly() async {
        let queue = serialQueue()
        queue.isSuspended = true
        let runs = Tally()
        var early: [StateKeepingOperation] = []
        for index in 0..<40 {
            queue.addOperation { runs.increment() }
            let operation = StateKeepingOperation()
            operation.queuePriority = Operation.QueuePriority.allCases[index % 5]
            queue.addOperation(operation)
            early.append(operation)
        }
        for operation in early { operation.stage = .finished }
        #expect(queue.operationCount == 40)
        early = []
        queue.isSuspended = false
        await queue.drain()
        #expect(runs.value == 40)
    }

    @Test("B9: cancelAllOperations cancels a whole chain before its first member releases the next")
    func cancelAllReachesDependentsBeforeTheFirstEnds() async {
        let (queue, gate, ran) = (OperationQueue(), Operation(), Tally())
        let begun = Signal()
        let first = BlockOperation {
            begun.send()
            while Operation.current?.isCancelled != true {}
        }
        let others = (0..<20_000 / slowness).map { _ in
            let operation = BlockOperation {}
            operation.addDependency(gate)
            return operation
        }
        let last = BlockOperation { ran.increment() }
        last.addDependency(first)
        await queue.addOperations([first] + others + [last], waitUntilFinished: false)
        #expect(await begun.arrives())
        await onThread { queue.cancelAllOperations() }
        await queue.drain()
        #expect(ran.value == 0)
    }

    @Test("B9: after cancelAllOperations, a running chain starts no later member")
    func cancelAllOfARunningChainStartsNoLaterMember() async {
        for round in 0..<500 {
            let queue = OperationQueue()
            let cancelled = Atomic(false)
            let late = Tally()
            let operations = (0..<20).map { _ in
                BlockOperation { if cancelled.load(ordering: .acquiring) { late.increment() } }
            }
            for (later, earlier) in zip(operations.dropFirst(), operations) {
                later.addDependency(earlier)
            }
            await queue.addOperations(operations, waitUntilFinished: false)
            await operations[round % 10].waitUntilFinished()
            queue.cancelAllOperations()
            // Only the operation that had already begun may still have to read the flag.
            cancelled.store(true, ordering: .releasing)
            await queue.drain()
            #expect(late.value <= 1)
        }
    }

    @Test("B11: a changed priority counts in a serial queue, also if a quality of service is set")
    func changedPriorityCountsDespiteAQualityOfService() async {
        let queue = serialQueue()
        queue.isSuspended = true
        let order = TestRecorder<String>()
        let a = BlockOperation { order.record("a") }
        let b = BlockOperation { order.record("b") }
        a.qualityOfService = .background
        b.qualityOfService = .userInteractive
        queue.addOperation(b)
        queue.addOperation(a)
        a.queuePriority = .veryHigh
        queue.isSuspended = false
        await queue.drain()
        #expect(order.events == ["a", "b"])
    }

    @Test("B15: a quality of service set after the first operation reaches the blocks added later")
    func laterQueueQualityOfServiceReachesLaterBlocks() async {
        let queue = suspendedQueue()
        queue.addOperation {}
        queue.qualityOfService = .utility
        queue.addOperation {}
        #expect(queue.operations.map(\.qualityOfService) == [.default, .utility])
        queue.isSuspended = false
        await queue.drain()
    }

    @Test("B17: concurrently adding and removing edges in opposite directions does not deadlock")
    func concurrentOppositeEdgesDoNotDeadlock() async {
        // This test runs in a process of its own, because one handler receives all findings.
        await #expect(processExitsWith: .success) {
            endSoon(EXIT_FAILURE)
            OperationsDiagnostics.handler = { _ in }
            let (a, b) = (Operation(), Operation())
            await withTaskGroup(of: Void.self) { group in
                for (first, second) in [(a, b), (b, a)] {
                    group.addTask {
                        await onThread {
                            for _ in 0..<5_000 / slowness {
                                first.addDependency(second)
                                first.removeDependency(second)
                            }
                        }
                    }
                }
            }
            #expect(a.isReady && b.isReady)
        }
    }

    @Test(
        "B17, O18: a cycle that closes repeatedly is reported each time and leaves nothing behind")
    func repeatedlyClosedCycleIsReportedEachTime() async {
        await #expect(processExitsWith: .success) {
            endSoon(EXIT_FAILURE)
            let findings = Tally()
            OperationsDiagnostics.handler = { _ in findings.increment() }
            let (a, b, c) = (Operation(), Operation(), Operation())
            a.addDependency(b)
            b.addDependency(c)
            let queue = OperationQueue()
            await queue.addOperations([a, b], waitUntilFinished: false)
            for round in 1...3 {
                b.addDependency(a)
                #expect(await comesTrue { findings.value == 2 * round - 1 })
                b.removeDependency(a)
                // The report of another cycle shows that the library has seen this.
                let others = [Operation(), Operation()]
                others[0].addDependency(others[1])
                others[1].addDependency(others[0])
                await queue.addOperations(others, waitUntilFinished: false)
                #expect(await comesTrue { findings.value == 2 * round })
                others[0].cancel()
            }
            queue.addOperation(c)
            await queue.drain()
        }
    }

    @Test("O18, P1: an existing cycle does not slow the building of other graphs")
    func existingCycleDoesNotSlowOtherGraphs() async {
        await #expect(processExitsWith: .success) {
            endSoon(EXIT_FAILURE)
            OperationsDiagnostics.handler = { _ in }
            let (a, b) = (Operation(), Operation())
            a.addDependency(b)
            b.addDependency(a)
            var last = Operation()
            for _ in 0..<50_000 / slowness {
                let next = Operation()
                next.addDependency(last)
                last = next
            }
            withExtendedLifetime((a, b, last)) {}
        }
    }

    @Test("B17: every property can be read and set while operations run")
    func everyPropertyIsAccessibleWhileOperationsRun() async {
        let queue = OperationQueue()
        let operations = (0..<200).map { _ in BlockOperation {} }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                group.addTask {
                    for operation in operations {
                        operation.name = "\(number)"
                        operation.queuePriority = .high
                        operation.qualityOfService = .utility
                        operation.completionBlock = {}
                        _ = [operation.name ?? "", "\(operation.queuePriority)", "\(operation)"]
                        _ = [operation.isReady, operation.isExecuting, operation.isCancelled]
                        _ = [operation.completionBlock == nil, queue.operations.isEmpty]
                    }
                }
            }
            await queue.addOperations(operations, waitUntilFinished: true)
        }
        #expect(queue.operationCount == 0)
    }

    @Test("B20: announcing a change of any key path is harmless")
    func everyKeyPathMayBeAnnounced() async {
        let queue = suspendedQueue()
        let operation = Operation()
        queue.addOperation(operation)
        operation.didChangeValue(for: \.isFinished)
        operation.didChangeValue(for: \.isExecuting)
        operation.didChangeValue(for: \.isReady)
        operation.didChangeValue(for: \.isCancelled)
        operation.didChangeValue(for: \.queuePriority)
        operation.didChangeValue(for: \.dependencies)
        operation.didChangeValue(for: \.name)
        for key in ["isCancelled", "cancelled", "queuePriority", "nonsense"] {
            operation.willChangeValue(forKey: key)
            operation.didChangeValue(forKey: key)
        }
        #expect(queue.operationCount == 1)
        queue.isSuspended = false
        await queue.drain()
    }

    // MARK: Growth

    /// Counts the reads of its `isReady`.
    private final class ReadCountingOperation: Operation, @unchecked Sendable {
        let reads: Tally
        init(_ reads: Tally) { self.reads = reads }
        override var isReady: Bool {
            reads.increment()
            return super.isReady
        }
    }

    @Test(
        "P1: a chain reads isReady of each operation a few times, however long it is",
        arguments: [100, 100_000 / slowness])
    func readsOfIsReadyAreLinearInAChain(length: Int) async {
        let reads = Tally()
        let queue = OperationQueue()
        let operations = (0..<length).map { _ in ReadCountingOperation(reads) }
        for (later, earlier) in zip(operations.dropFirst(), operations) {
            later.addDependency(earlier)
        }
        await queue.addOperations(operations, waitUntilFinished: true)
        #expect(reads.value <= 8 * length)
    }

    @Test(
        "P2: enqueueing and releasing many dependents reads isReady of each one a few times",
        arguments: [100, 100_000 / slowness])
    func readsOfIsReadyAreLinearInAFanOut(width: Int) async {
        let reads = Tally()
        let queue = OperationQueue()
        let root = Operation()
        for _ in 0..<width {
            let operation = ReadCountingOperation(reads)
            operation.addDependency(root)
            queue.addOperation(operation)
        }
        root.start()
        await queue.drain()
        #expect(reads.value <= 8 * width)
    }

    /// All operations wait for each other. The test ends in time only if each of them gets a thread
    /// at once, and not one thread per second.
    @Test("P7: each of two hundred blocked operations gets a thread")
    func everyBlockedOperationGetsAThread() async {
        let (arrived, all, timedOut) = (Tally(), Signal(), Tally())
        let queue = OperationQueue()
        for _ in 0..<200 {
            queue.addOperation {
                if arrived.increment() == 200 {
                    for _ in 0..<200 { all.send() }
                }
                if !all.wait() { timedOut.increment() }
            }
        }
        await queue.drain()
        #expect(timedOut.value == 0)
    }

    @Test("P8: operations that wait for nested children in other queues all finish")
    func nestedWaitsInSeveralQueuesEnd() async {
        let runs = Tally()
        let queues = (0..<4).map { _ in OperationQueue() }
        @Sendable func descend(_ level: Int) {
            runs.increment()
            guard level < queues.count else { return }
            queues[level].addOperations(
                [BlockOperation { descend(level + 1) }], waitUntilFinished: true)
        }
        let outer = OperationQueue()
        for _ in 0..<50 { outer.addOperation { descend(0) } }
        await outer.drain()
        #expect(runs.value == 250)
    }
}
