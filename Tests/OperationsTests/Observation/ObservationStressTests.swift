import Dispatch
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// Observations while many threads change the observed properties.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ObservationStressTests {
    private struct Change<Value: Sendable & Equatable>: Sendable, Equatable {
        let old: Value?
        let new: Value?
    }

    /// Expects that each change starts at the value at which the previous one ended.
    private func expectChain<Value: Equatable>(
        _ changes: [Change<Value>], from initial: Value,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var latest: Value? = initial
        var broken = 0
        for change in changes {
            if change.old != latest || change.old == change.new { broken += 1 }
            latest = change.new
        }
        #expect(broken == 0, sourceLocation: sourceLocation)
    }

    @Test func changesByEightThreadsAreReportedExactlyOnce() {
        let operation = Operation()
        let (names, readiness) = (TestRecorder<Change<String?>>(), TestRecorder<Change<Bool>>())
        let priorities = TestRecorder<Change<Operation.QueuePriority>>()
        let observations = [
            operation.observe(\.name, options: [.old, .new]) {
                names.record(Change(old: $1.oldValue, new: $1.newValue))
            },
            operation.observe(\.queuePriority, options: [.old, .new]) {
                priorities.record(Change(old: $1.oldValue, new: $1.newValue))
            },
            operation.observe(\.isReady, options: [.old, .new]) {
                readiness.record(Change(old: $1.oldValue, new: $1.newValue))
            },
        ]
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            let dependency = Operation()
            for index in 0..<500 {
                // Each name is used once, so each of them is a change.
                operation.name = "\(thread) \(index)"
                operation.queuePriority = index % 2 == 0 ? .high : .low
                operation.addDependency(dependency)
                operation.removeDependency(dependency)
            }
        }
        // One thread may deliver the changes of others. All threads have returned, so no handler
        // still runs.
        #expect(names.events.count == 4000)
        #expect(Set(names.events.map(\.new)).count == 4000)
        for thread in 0..<8 {
            let own = names.events.compactMap { $0.new ?? nil }.filter {
                $0.hasPrefix("\(thread) ")
            }
            #expect(own == (0..<500).map { "\(thread) \($0)" })
        }
        expectChain(names.events, from: nil)
        expectChain(priorities.events, from: .normal)
        expectChain(readiness.events, from: true)
        #expect(names.events.last?.new == operation.name)
        #expect(priorities.events.last?.new == operation.queuePriority)
        #expect(readiness.events.last?.new == true)
        withExtendedLifetime(observations) {}
    }

    @Test(arguments: seeds(1)) func randomLifeCyclesAreReportedInOrder(seed: UInt64) async {
        var random = SplitMix64(seed: seed)
        let queue = OperationQueue()
        for _ in 0..<300 {
            let log = TestRecorder<String>()
            let operation: Operation =
                switch Int.random(in: 0..<3, using: &random) {
                case 0: BlockOperation {}
                case 1: TypedOperation<Void> {}
                default: DispatchedOperation {}
                }
            let dependency = BlockOperation {}
            operation.addDependency(dependency)
            let observations = [
                operation.observe(\.isExecuting, options: .new) {
                    log.record("executing \($1.newValue ?? false)")
                },
                operation.observe(\.isFinished, options: .new) {
                    log.record("finished \($1.newValue ?? false)")
                },
                operation.observe(\.isCancelled, options: .new) {
                    log.record("cancelled \($1.newValue ?? false)")
                },
            ]
            let cancels = Bool.random(using: &random)
            if Bool.random(using: &random) {
                queue.addOperation(dependency)
                queue.addOperation(operation)
            } else {
                queue.addOperation(operation)
                queue.addOperation(dependency)
            }
            if cancels { operation.cancel() }
            await queue.drain()
            #expect(await comesTrue { log.events.contains("finished true") })
            let life = log.events.filter { !$0.hasPrefix("cancelled") }
            let ran = ["executing true", "executing false", "finished true"]
            #expect(
                life == ran || (operation.isCancelled && life == ["finished true"]),
                "\(type(of: operation)): \(log.events), seed \(seed)")
            let cancellations = log.events.filter { $0.hasPrefix("cancelled") }
            #expect(
                cancellations == (operation.isCancelled ? ["cancelled true"] : []), "seed \(seed)")
            withExtendedLifetime(observations) {}
        }
    }

    @Test func invalidatedObservationReportsNoFurtherChange() {
        let operation = Operation()
        let isOver = Atomic(false)
        let ended = Signal()
        for thread in 0..<2 {
            startTestThread {
                var index = 0
                while !isOver.load(ordering: .acquiring) {
                    operation.name = "\(thread) \(index)"
                    index += 1
                }
                ended.send()
            }
        }
        for _ in 0..<2_000 {
            let calls = Tally()
            let observation = operation.observe(\.name) { _, _ in calls.increment() }
            observation.invalidate()
            // A call that had already begun on another thread may still come.
            let atMost = calls.value + 1
            operation.name = "x"
            operation.name = "y"
            #expect(calls.value <= atMost)
        }
        isOver.store(true, ordering: .releasing)
        for _ in 0..<2 { ended.wait() }
        #expect(!operation.status.has(.observed))
    }

    // MARK: Queues

    @Test(arguments: [1, 3, -1])
    func operationCountChangesByOne(width: Int) async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = width
        let counts = TestRecorder<Change<Int>>()
        let lists = TestRecorder<[Operation]>()
        let observations = [
            queue.observe(\.operationCount, options: [.old, .new]) {
                counts.record(Change(old: $1.oldValue, new: $1.newValue))
            },
            queue.observe(\.operations, options: [.new]) { lists.record($1.newValue ?? []) },
        ]
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for index in 0..<100 {
                let operation: Operation =
                    index % 10 == 0 ? TypedOperation<Void> {} : BlockOperation {}
                queue.addOperation(operation)
                if index % 7 == 0 { operation.cancel() }
            }
        }
        await queue.drain()
        #expect(await comesTrue { counts.events.count >= 1600 && lists.events.count >= 1600 })
        #expect(counts.events.count == 1600)
        #expect(counts.events.allSatisfy { abs(($0.new ?? 0) - ($0.old ?? 0)) == 1 })
        expectChain(counts.events, from: 0)
        #expect(counts.events.last?.new == 0)
        #expect(lists.events.map(\.count) == counts.events.map { $0.new ?? -1 })
        withExtendedLifetime(observations) {}
    }

    @Test func observationOfBusyQueueMissesNoCount() async {
        let queue = OperationQueue()
        for _ in 0..<20 {
            for _ in 0..<2_000 { queue.addOperation {} }
            let counts = TestRecorder<Int>()
            let observation = queue.observe(\.operationCount, options: [.initial, .new]) {
                counts.record($1.newValue ?? -1)
            }
            await queue.drain()
            #expect(await comesTrue { counts.events.last == 0 })
            let values = counts.events
            #expect(zip(values, values.dropFirst()).allSatisfy { $0 - 1 == $1 })
            observation.invalidate()
            #expect(!queue.snapshot { $0.records.notifiesEach })
        }
    }

    @Test func queueSettingsAreObservable() {
        let queue = OperationQueue()
        let log = TestRecorder<String>()
        let observations = [
            queue.observe(\.maxConcurrentOperationCount, options: [.old, .new]) {
                log.record("\($1.oldValue ?? 0)>\($1.newValue ?? 0)")
            },
            queue.observe(\.isSuspended, options: [.old, .new]) {
                log.record("\($1.oldValue ?? true)>\($1.newValue ?? false)")
            },
            queue.observe(\.name, options: .new) { log.record(($1.newValue ?? nil) ?? "") },
            queue.observe(\.qualityOfService, options: .new) {
                log.record("\($1.newValue ?? .default)")
            },
        ]
        queue.maxConcurrentOperationCount = 2
        queue.isSuspended = true
        queue.isSuspended = true
        queue.name = "Download queue"
        queue.qualityOfService = .utility
        #expect(log.events == ["-1>2", "false>true", "Download queue", "utility"])
        withExtendedLifetime(observations) {}
    }

    @Test func queueHandlerMayAddAndCancelOperations() async {
        let queue = OperationQueue()
        let ran = Tally()
        let observation = queue.observe(\.operationCount, options: .new) { queue, change in
            if change.newValue == 0, ran.value < 5 { queue.addOperation { ran.increment() } }
            queue.operations.first?.cancel()
            queue.isSuspended = false
        }
        ran.increment()
        for _ in 0..<5 { queue.addOperation { ran.increment() } }
        // When the queue is empty, the handler may be about to add an operation.
        #expect(await comesTrue { ran.value >= 5 && queue.operationCount == 0 })
        observation.invalidate()
    }

    @Test func observedQueueIsFreed() async {
        weak var freed: OperationQueue?
        let observation: KeyValueObservation
        do {
            let queue = OperationQueue()
            freed = queue
            observation = queue.observe(\.operations) { _, _ in }
            queue.addOperation {}
            await queue.drain()
        }
        #expect(await comesTrue { freed == nil })
        observation.invalidate()
    }

    @Test func observedQueueDoesNotCountOperationAfterWait() async {
        let wrong = await onThread {
            let queue = OperationQueue()
            let observation = queue.observe(\.operationCount) { _, _ in }
            let (never, ended) = (Operation(), Tally())
            let rest = (0..<2_000).map { _ in BlockOperation {} }
            for operation in rest { operation.addDependency(never) }
            queue.addOperations(rest, waitUntilFinished: false)
            let over = Signal()
            startTestThread {
                // Keeps the lock of the queue contended.
                while ended.value == 0 { _ = queue.operations }
                over.send()
            }
            var wrong = 0
            for _ in 0..<(1_000 / slowness) {
                let operation = BlockOperation {}
                queue.addOperation(operation)
                while !operation.isFinished {}
                operation.waitUntilFinished()
                if queue.operationCount != rest.count { wrong += 1 }
            }
            ended.increment()
            over.wait()
            queue.cancelAllOperations()
            queue.waitUntilAllOperationsAreFinished()
            withExtendedLifetime(observation) {}
            return wrong
        }
        #expect(wrong == 0)
    }

    @Test func endOfOperationStartedEarlierIsReportedBeforeWaitEnds() async {
        let wrong = await onThread {
            var wrong = 0
            for _ in 0..<(400 / slowness) {
                let queue = OperationQueue()
                let (started, proceed, over) = (Signal(), Signal(), Signal())
                let operation = BlockOperation {
                    started.send()
                    proceed.wait()
                }
                queue.addOperation(operation)
                started.wait()
                let (counts, atTheEnd) = (TestRecorder<Int>(), TestRecorder<[Int]>())
                let observation = queue.observe(\.operationCount, options: .new) {
                    counts.record($1.newValue ?? -1)
                }
                startTestThread {
                    operation.waitUntilFinished()
                    atTheEnd.record(counts.events)
                    over.send()
                }
                while !operation.status.has(.hasEndObservers) {}
                proceed.send()
                over.wait()
                if atTheEnd.events != [[0]] { wrong += 1 }
                withExtendedLifetime(observation) {}
            }
            return wrong
        }
        #expect(wrong == 0)
    }
}
