import Dispatch
import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

/// Queues: rows Q1–Q22 as far as they concern the queue alone, and rows O24–O27.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct QueueContractTests {
    // MARK: Order

    @Test("O24: each change of priority moves an operation behind its new peers")
    func changedPriorityMovesOperationBehindItsPeers() async {
        let queue = serialQueue()
        queue.isSuspended = true
        let order = TestRecorder<Int>()
        let operations = (0..<6).map { index in BlockOperation { order.record(index) } }
        for operation in operations { queue.addOperation(operation) }
        for index in [4, 2, 0] { operations[index].queuePriority = .high }
        operations[4].queuePriority = .low
        operations[4].queuePriority = .high
        operations[5].queuePriority = .veryLow
        operations[1].queuePriority = .veryLow
        queue.isSuspended = false
        await queue.drain()
        #expect(order.events == [2, 0, 4, 3, 5, 1])
    }

    @Test("O24: a priority set while an operation is not ready decides its place when it is ready")
    func priorityChangedBeforeReadinessDecidesTheOrder() async {
        let queue = serialQueue()
        queue.isSuspended = true
        let order = TestRecorder<String>()
        let gate = Operation()
        let late = BlockOperation { order.record("late") }
        late.addDependency(gate)
        queue.addOperation { order.record("a") }
        queue.addOperation(late)
        queue.addOperation { order.record("b") }
        late.queuePriority = .veryHigh
        gate.start()
        queue.isSuspended = false
        await queue.drain()
        #expect(order.events == ["late", "a", "b"])
    }

    @Test("O25: a quality of service changes neither queuePriority nor the order of a queue")
    func qualityOfServiceDoesNotAffectTheOrder() async {
        let queue = serialQueue()
        queue.isSuspended = true
        let order = TestRecorder<Int>()
        let services: [QualityOfService] = [
            .background, .utility, .userInitiated, .userInteractive,
        ]
        for (index, service) in services.enumerated() {
            let operation = BlockOperation { order.record(index) }
            operation.qualityOfService = service
            queue.addOperation(operation)
            #expect(operation.queuePriority == .normal)
        }
        queue.isSuspended = false
        await queue.drain()
        #expect(order.events == [0, 1, 2, 3])
    }

    /// Blocked operations take all slots but one, so that the other operations share one slot.
    @Test("O27: operations start by priority at any width", arguments: [2, 3, 5])
    func operationsStartByPriorityAtAnyWidth(width: Int) async {
        let queue = suspendedQueue()
        queue.maxConcurrentOperationCount = width
        let (done, timedOut, order) = (Signal(), Tally(), TestRecorder<Int>())
        for _ in 1..<width {
            let blocker = BlockOperation { if !done.wait() { timedOut.increment() } }
            blocker.queuePriority = .veryHigh
            queue.addOperation(blocker)
        }
        let levels: [Operation.QueuePriority] = [.veryLow, .low, .normal, .high]
        for round in 0..<40 {
            let operation = BlockOperation { [levels] in
                order.record(levels[round % levels.count].rawValue)
            }
            operation.queuePriority = levels[round % levels.count]
            queue.addOperation(operation)
        }
        let last = BlockOperation { for _ in 1..<width { done.send() } }
        last.queuePriority = .veryLow
        queue.addOperation(last)
        queue.isSuspended = false
        await queue.drain()
        #expect(timedOut.value == 0)
        #expect(order.events == order.events.sorted(by: >))
        #expect(order.events.count == 40)
    }

    @Test("O26, O27: an operation that becomes ready later starts before all of lower priority")
    func operationThatBecomesReadyLaterKeepsItsPriority() async {
        let queue = serialQueue()
        queue.isSuspended = true
        let order = TestRecorder<String>()
        let gate = BlockOperation { order.record("gate") }
        let urgent = BlockOperation { order.record("urgent") }
        urgent.queuePriority = .veryHigh
        urgent.addDependency(gate)
        queue.addOperation(gate)
        for _ in 0..<50 { queue.addOperation { order.record("normal") } }
        queue.addOperation(urgent)
        queue.isSuspended = false
        await queue.drain()
        #expect(order.events.prefix(3) == ["gate", "urgent", "normal"])
    }

    @Test("O26, O27: an operation added by a running one starts before all of lower priority")
    func operationAddedLaterKeepsItsPriority() async {
        let queue = serialQueue()
        queue.isSuspended = true
        let order = TestRecorder<String>()
        queue.addOperation {
            let urgent = BlockOperation { order.record("urgent") }
            urgent.queuePriority = .high
            queue.addOperation(urgent)
        }
        for _ in 0..<50 { queue.addOperation { order.record("normal") } }
        queue.isSuspended = false
        await queue.drain()
        #expect(order.events.first == "urgent")
    }

    @Test("Q7: a queue of width 1 starts the first ready operation, not the first one added")
    func serialQueueStartsTheFirstReadyOperation() async {
        let queue = serialQueue()
        let order = TestRecorder<Int>()
        let gate = Operation()
        let first = BlockOperation { order.record(1) }
        first.addDependency(gate)
        queue.addOperation(first)
        let second = BlockOperation { order.record(2) }
        queue.addOperation(second)
        await second.waitUntilFinished()
        gate.start()
        await queue.drain()
        #expect(order.events == [2, 1])
    }

    // MARK: Width and suspension

    @Test("Q6: the width is -1 by default and can be set to -1 again; zero is allowed")
    func widthIsMinusOneByDefaultAndMayBeZero() {
        let queue = OperationQueue()
        #expect(OperationQueue.defaultMaxConcurrentOperationCount == -1)
        queue.maxConcurrentOperationCount = 0
        #expect(queue.maxConcurrentOperationCount == 0)
        queue.maxConcurrentOperationCount = OperationQueue.defaultMaxConcurrentOperationCount
        #expect(queue.maxConcurrentOperationCount == -1)
    }

    @Test("Q6: lowering the width stops no running operation and limits later starts")
    func loweredWidthAppliesToLaterStartsOnly() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 4
        let (began, proceed, runs, inside) = (Signal(), Signal(), Tally(), Occupancy())
        for _ in 0..<4 {
            queue.addOperation {
                began.send()
                proceed.wait()
                runs.increment()
            }
        }
        await onThread { for _ in 0..<4 { began.wait() } }
        queue.maxConcurrentOperationCount = 1
        for _ in 0..<50 {
            queue.addOperation {
                inside.enter()
                inside.leave()
            }
        }
        #expect(queue.operationCount == 54)
        for _ in 0..<4 { proceed.send() }
        await queue.drain()
        #expect(runs.value == 4)
        #expect(inside.highest == 1)
    }

    @Test("Q6: raising the width starts more operations at once, without another event")
    func raisingTheWidthStartsMoreOperations() async {
        let queue = serialQueue()
        let (began, proceed) = (Signal(), Signal())
        for _ in 0..<3 {
            queue.addOperation {
                began.send()
                proceed.wait()
            }
        }
        let first = await onThread { began.wait() }
        queue.maxConcurrentOperationCount = 3
        let others = await onThread { began.wait() && began.wait() }
        for _ in 0..<3 { proceed.send() }
        await queue.drain()
        #expect(first && others)
    }

    @Test("Q9: a suspended queue accepts operations and starts them in order when it resumes")
    func suspendedQueueAcceptsOperations() async {
        let queue = serialQueue()
        let order = TestRecorder<Int>()
        queue.isSuspended = true
        queue.isSuspended = true
        for index in 0..<10 { queue.addOperation { order.record(index) } }
        #expect(queue.operationCount == 10)
        #expect(queue.isSuspended)
        queue.isSuspended = false
        await queue.drain()
        #expect(order.events == Array(0..<10))
    }

    // MARK: Adding, listing, cancelling, waiting

    @Test("Q3: an operation may add to its queue after all other code has released the queue")
    func operationMayAddToAQueueThatOthersReleased() async {
        let runs = Tally()
        let last = BlockOperation { runs.increment() }
        do {
            let queue = serialQueue()
            queue.addOperation {
                runs.increment()
                OperationQueue.current?.addOperation {
                    runs.increment()
                    OperationQueue.current?.addOperation(last)
                }
            }
        }
        await last.waitUntilFinished()
        #expect(runs.value == 3)
    }

    @Test("Q4, B19: a suspended queue is released once all of its operations are cancelled")
    func suspendedQueueIsReleasedAfterCancellation() async {
        weak var weakQueue: OperationQueue?
        let releases = Tally()
        let last: Operation
        do {
            let queue = suspendedQueue()
            weakQueue = queue
            for _ in 0..<10 {
                let token = Token(releases)
                queue.addOperation { withExtendedLifetime(token) {} }
            }
            last = Operation()
            queue.addOperation(last)
            queue.cancelAllOperations()
        }
        await last.waitUntilFinished()
        #expect(await comesTrue { weakQueue == nil && releases.value == 10 })
    }

    @Test("Q11: cancelAllOperations calls cancel() on each operation in the order added")
    func cancelAllCancelsInTheOrderAdded() async {
        final class CancelRecorder: Operation, @unchecked Sendable {
            let number: Int
            let order: TestRecorder<Int>
            init(_ number: Int, _ order: TestRecorder<Int>) {
                self.number = number
                self.order = order
            }
            override func cancel() {
                order.record(number)
                super.cancel()
            }
        }
        let queue = suspendedQueue()
        let order = TestRecorder<Int>()
        for number in 0..<20 {
            let operation = CancelRecorder(number, order)
            operation.queuePriority = number % 2 == 0 ? .low : .high
            queue.addOperation(operation)
        }
        queue.cancelAllOperations()
        await queue.drain()
        #expect(order.events == Array(0..<20))
    }

    @Test("Q11: an operation added after cancelAllOperations runs")
    func operationAddedAfterCancelAllRuns() async {
        let queue = OperationQueue()
        let runs = Tally()
        queue.cancelAllOperations()
        queue.addOperation { runs.increment() }
        await queue.drain()
        #expect(runs.value == 1)
    }

    @Test("Q12: waiting for an empty queue, suspended or not, returns at once")
    func waitForAnEmptyQueueReturnsAtOnce() async {
        await onThread {
            OperationQueue().waitUntilAllOperationsAreFinished()
            suspendedQueue().waitUntilAllOperationsAreFinished()
        }
        await suspendedQueue().waitUntilAllOperationsAreFinished()
    }

    @Test("Q12: a wait for a suspended queue ends after the queue resumes")
    func waitForASuspendedQueueEndsAfterItResumes() async {
        let queue = suspendedQueue()
        let runs = Tally()
        for _ in 0..<10 { queue.addOperation { runs.increment() } }
        let waiting = Task { await onThread { queue.waitUntilAllOperationsAreFinished() } }
        #expect(queue.operationCount == 10)
        queue.isSuspended = false
        await waiting.value
        #expect(runs.value == 10)
        #expect(queue.operationCount == 0)
    }

    @Test("Q13: addOperations(_:waitUntilFinished:) on a thread waits for its operations only")
    func blockingAddOperationsWaitsForItsOperationsOnly() async {
        let queue = OperationQueue()
        let proceed = Signal()
        queue.addOperation { proceed.wait() }
        let count = await onThread {
            let operations = (0..<20).map { _ in Operation() }
            queue.addOperations(operations, waitUntilFinished: true)
            queue.addOperations([], waitUntilFinished: true)
            return operations.count { $0.isFinished }
        }
        #expect(count == 20)
        #expect(queue.operationCount == 1)
        proceed.send()
        await queue.drain()
    }

    @Test("Q15: operations includes the executing operation, first because it was added first")
    func operationsIncludesTheExecutingOperation() async {
        let queue = serialQueue()
        let (began, proceed) = (Signal(), Signal())
        let running = BlockOperation {
            began.send()
            proceed.wait()
        }
        let waiting = Operation()
        waiting.queuePriority = .veryHigh
        queue.addOperation(running)
        await onThread { _ = began.wait() }
        queue.addOperation(waiting)
        #expect(queue.operations == [running, waiting])
        #expect(running.isExecuting && !waiting.isExecuting)
        proceed.send()
        await queue.drain()
    }

    @Test("B18: operationCount counts each operation once, added alone or in an array")
    func operationCountIsExact() async {
        let queue = suspendedQueue()
        let operations = (0..<10).map { _ in Operation() }
        await queue.addOperations(operations, waitUntilFinished: false)
        queue.addOperation(Operation())
        #expect(queue.operationCount == 11)
        for (index, operation) in operations.enumerated() {
            operation.cancel()
            await operation.waitUntilFinished()
            #expect(queue.operationCount == 10 - index)
            #expect(queue.operations.count == 10 - index)
        }
        queue.isSuspended = false
        await queue.drain()
        #expect(queue.operationCount == 0)
    }

    @Test("Q17: dependencies hold between the main queue and other queues")
    func dependenciesHoldBetweenMainAndOtherQueues() async {
        let order = TestRecorder<String>()
        let download = BlockOperation { order.record("download") }
        let show = BlockOperation {
            MainActor.assertIsolated()
            order.record("show")
        }
        show.addDependency(download)
        let store = BlockOperation { order.record("store") }
        store.addDependency(show)
        OperationQueue.main.addOperation(show)
        await OperationQueue().addOperations([store, download], waitUntilFinished: true)
        #expect(order.events == ["download", "show", "store"])
    }

    @Test("Q18: current is nil outside operations and off the main thread")
    func currentIsNilOutsideOperations() async {
        let isNil = await onThread { OperationQueue.current == nil }
        #expect(isNil)
    }

    @Test("B15: a name set after the first operation takes effect")
    func nameMayBeSetAfterTheFirstOperation() async {
        let queue = OperationQueue()
        queue.addOperation {}
        await queue.drain()
        queue.name = "late"
        #expect(queue.name == "late")
        queue.name = nil
        #expect(queue.name?.hasPrefix("NSOperationQueue 0x") == true)
    }

    @Test("Q14, Q18: main and current can be overridden, and the library uses its own")
    func mainAndCurrentCanBeOverridden() async {
        final class Named: OperationQueue, @unchecked Sendable {
            private static let shared: Named = {
                let queue = Named()
                queue.underlyingQueue = .main
                return queue
            }()
            override class var main: Named { shared }
            override class var current: OperationQueue? { OperationQueue.current ?? shared }
        }
        #expect(Named.main !== OperationQueue.main)
        let isShared = await onThread { Named.current === Named.main }
        #expect(isShared)
        let seen = TestRecorder<Bool>()
        Named.main.addOperation {
            MainActor.assertIsolated()
            seen.record(OperationQueue.current === Named.main)
        }
        await Named.main.drain()
        OperationQueue.main.addOperation { seen.record(Named.current === OperationQueue.main) }
        await OperationQueue.main.drain()
        #expect(seen.events == [true, true])
        OperationQueue.main.isSuspended = true
        #expect(!OperationQueue.main.isSuspended)
    }

    @Test("Decision 1, Q14: queues are equal by identity, and all their members can be overridden")
    func everythingCanBeOverridden() async {
        let queue = EverythingOverridden()
        #expect(Set([queue, OperationQueue(), queue]).count == 2)
        queue.maxConcurrentOperationCount = 2
        queue.isSuspended = false
        queue.name = "all"
        queue.qualityOfService = .utility
        queue.addOperation {}
        queue.cancelAllOperations()
        await onThread {
            queue.addOperations([Operation()], waitUntilFinished: true)
            queue.waitUntilAllOperationsAreFinished()
        }
        #expect(queue.operationCount == 0 && queue.operations == [])
        #expect(
            Set(queue.calls.events) == [
                "maxConcurrentOperationCount", "isSuspended", "name", "qualityOfService",
                "addOperation(block)", "addOperation", "addOperations", "cancelAllOperations",
                "waitUntilAllOperationsAreFinished",
            ])
    }

    @Test("Q3, Q14: overrides of the methods that add keep nothing that is added")
    func overriddenMethodsThatAddKeepNothing() async {
        let released = Tally()
        // Of the superclass, so that the calls are dispatched dynamically.
        let queue: OperationQueue = EverythingOverridden()
        let last = Tallied(released)
        queue.addOperation(Tallied(released))
        queue.addOperation { [token = Token(released)] in withExtendedLifetime(token) {} }
        queue.add { [token = Token(released)] in withExtendedLifetime(token) {} }
        await queue.addOperations([Tallied(released), last], waitUntilFinished: false)
        await last.waitUntilFinished()
        await queue.drain()
        // `last` is still in use.
        #expect(await comesTrue { released.value == 4 })
        withExtendedLifetime(last) {}
    }
}

private final class Tallied: Operation, @unchecked Sendable {
    private let token: Token
    init(_ releases: Tally) { token = Token(releases) }
}

private final class EverythingOverridden: OperationQueue, @unchecked Sendable {
    let calls = TestRecorder<String>()

    override var operations: [Operation] { super.operations }
    override var operationCount: Int { super.operationCount }
    override var maxConcurrentOperationCount: Int {
        didSet { calls.record("maxConcurrentOperationCount") }
    }
    override var isSuspended: Bool { didSet { calls.record("isSuspended") } }
    override var name: String? { didSet { calls.record("name") } }
    override var qualityOfService: QualityOfService { didSet { calls.record("qualityOfService") } }

    override func addOperation(_ operation: Operation) {
        calls.record("addOperation")
        super.addOperation(operation)
    }
    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        calls.record("addOperation(block)")
        super.addOperation(block)
    }
    override func addOperations(_ operations: [Operation], waitUntilFinished wait: Bool) {
        calls.record("addOperations")
        super.addOperations(operations, waitUntilFinished: wait)
    }
    override func cancelAllOperations() {
        calls.record("cancelAllOperations")
        super.cancelAllOperations()
    }
    override func waitUntilAllOperationsAreFinished() {
        calls.record("waitUntilAllOperationsAreFinished")
        super.waitUntilAllOperationsAreFinished()
    }
}
