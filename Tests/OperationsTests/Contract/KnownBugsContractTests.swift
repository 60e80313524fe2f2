import Operations
import OperationsTestKit
import Synchronization
import TestSupport
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What is wrong or slow elsewhere and must not be here: rows B1–B20, and of P1–P8 what can be
/// counted and so cannot fail by a slow machine.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct KnownBugsContractTests {
    // MARK: Bugs

    @Test("B1: removing a finished dependency of a cancelled operation upsets no count")
    func removingAFinishedDependencyOfACancelledOperation() async {
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
    func removingADependencyAsItFinishes() async {
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

    @Test("B2: a dependent that was cancelled, finished and freed does its dependency no harm")
    func aDependentThatIsGoneEarly() async {
        let gone = Tally()
        let queue = OperationQueue()
        let dependency = Operation()
        for _ in 0..<100 {
            let token = Token(gone)
            let dependent = BlockOperation { withExtendedLifetime(token) {} }
            dependent.addDependency(dependency)
            queue.addOperation(dependent)
            dependent.cancel()
        }
        await queue.drain()
        #expect(await comesTrue { gone.value == 100 })
        dependency.start()
        #expect(dependency.isFinished)
    }

    @Test("B2: dependents are freed while their dependency finishes")
    func dependentsAreFreedAsTheirDependencyFinishes() async {
        for _ in 0..<300 {
            let dependency = BlockOperation {}
            var dependents = (0..<20).map { _ in Operation() }
            for dependent in dependents { dependent.addDependency(dependency) }
            OperationQueue().addOperation(dependency)
            dependents = []
            await dependency.waitUntilFinished()
        }
    }

    @Test("B4: the queue goes on after an operation finished before the queue started it")
    func theQueueGoesOnAfterAnEarlyEnd() async {
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

    @Test("B9: cancelAllOperations marks a whole chain before its first member lets go of the next")
    func cancellingWhileTheFirstEnds() async {
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

    @Test("B9: cancelAllOperations against a running chain never lets a later member start")
    func cancellingARunningChain() async {
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
            // At most the one that had begun may still be about to look.
            cancelled.store(true, ordering: .releasing)
            await queue.drain()
            #expect(late.value <= 1)
        }
    }

    @Test(
        "B11: a changed priority counts in a serial queue also where a quality of service was set")
    func aPriorityChangedBesideAQualityOfService() async {
        let queue = serialQueue()
        queue.isSuspended = true
        let order = Recorder<String>()
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
    func aLateQualityOfService() async {
        let queue = suspendedQueue()
        queue.addOperation {}
        queue.qualityOfService = .utility
        queue.addOperation {}
        #expect(queue.operations.map(\.qualityOfService) == [.default, .utility])
        queue.isSuspended = false
        await queue.drain()
    }

    @Test(
        "B17: edges added and removed in opposite directions at the same time end without a deadlock"
    )
    func mirroredEdges() async {
        // In a process of its own: the cycles that this makes are reported to one handler for all.
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

    @Test("B17, O18: an edge that closes a cycle again and again leaves nothing behind that grows")
    func aCycleThatComesAndGoes() async {
        await #expect(processExitsWith: .success) {
            endSoon(EXIT_FAILURE)
            let findings = Tally()
            OperationsDiagnostics.handler = { _ in findings.increment() }
            let (a, b) = (Operation(), Operation())
            a.addDependency(b)
            let rounds = 5_000 / slowness
            for _ in 0..<rounds {
                b.addDependency(a)
                b.removeDependency(a)
            }
            #expect(findings.value == rounds)
        }
    }

    @Test("O18, P1: a cycle that stands somewhere does not slow the building of other graphs")
    func buildingBesideACycle() async {
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
    func propertiesFromEveryThread() async {
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

    @Test("B20: announcing a change of any key path does no harm")
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

    /// Knows how often it was asked.
    private final class Asked: Operation, @unchecked Sendable {
        let questions: Tally
        init(_ questions: Tally) { self.questions = questions }
        override var isReady: Bool {
            questions.increment()
            return super.isReady
        }
    }

    @Test(
        "P1: a chain asks isReady of each operation a few times, however long it is",
        arguments: [100, 10_000])
    func aChainAsksLinearly(length: Int) async {
        let questions = Tally()
        let queue = OperationQueue()
        let operations = (0..<length).map { _ in Asked(questions) }
        for (later, earlier) in zip(operations.dropFirst(), operations) {
            later.addDependency(earlier)
        }
        await queue.addOperations(operations, waitUntilFinished: true)
        #expect(questions.value <= 8 * length)
    }

    @Test(
        "P2: enqueueing and releasing what one operation holds back asks isReady a few times each",
        arguments: [100, 10_000])
    func aFanAsksLinearly(width: Int) async {
        let questions = Tally()
        let queue = OperationQueue()
        let root = Operation()
        for _ in 0..<width {
            let operation = Asked(questions)
            operation.addDependency(root)
            queue.addOperation(operation)
        }
        root.start()
        await queue.drain()
        #expect(questions.value <= 8 * width)
    }

    /// All of them wait for each other; it ends only if each gets a thread, and at once, not one a
    /// second.
    @Test("P7: two hundred operations that block all get a thread")
    func manyBlockedOperations() async {
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

    @Test("P8: operations that wait for children of children, in queues of their own, all finish")
    func nestedWaits() async {
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
