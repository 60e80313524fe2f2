import Dispatch
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct BudgetTests {
    /// Holds permits until `end` is signaled.
    private func hold(
        _ permits: Int, of budget: ConcurrencyBudget, in queue: OperationQueue = OperationQueue()
    ) -> (operation: TypedOperation<Void>, end: Signal) {
        let (started, end) = (Signal(), Signal())
        let operation = queue.add("holder", .cost(permits, of: budget)) {
            started.send()
            end.wait()
            return
        }
        #expect(started.wait())
        return (operation, end)
    }

    @Test func queuesSharePermits() async {
        let budget = ConcurrencyBudget(5, name: "permits")
        let queues = [OperationQueue(), OperationQueue(), serialQueue()]
        let used = Locked((now: 0, highest: 0))
        for index in 0..<600 {
            let cost = index % 4
            queues[index % 3].add(.cost(cost, of: budget)) {
                used.withLock {
                    $0.now += cost
                    $0.highest = max($0.highest, $0.now)
                }
                #expect(budget.inUse >= cost)
                used.withLock { $0.now -= cost }
            }
        }
        for queue in queues { await queue.drain() }
        #expect(used.withLock { $0.highest } <= 5 && budget.inUse == 0)
    }

    @Test func waiterTakesNoSlotAndExplainsItsWait() async {
        let budget = ConcurrencyBudget(512, name: "megabytes")
        let holder = hold(416, of: budget)
        let queue = serialQueue()
        let render = queue.add("render", .cost(128, of: budget)) {}
        let next = queue.add("next", .cost(1, of: budget)) {}
        await queue.add("free") {}.waitUntilFinished()
        #expect(
            render.explain().description == "'render' waits for 128 of 'megabytes', 96 are free.")
        #expect(
            next.explain().description
                == "'next' waits for 1 of 'megabytes', 96 are free, and 1 other is before it.")
        #expect(budget.inUse == 416 && !render.isReady)
        holder.end.send()
        await queue.drain()
        #expect(render.isFinished && next.isFinished)
        await holder.operation.waitUntilFinished()
        #expect(budget.inUse == 0)
    }

    /// Requests that a pause sets aside hold back nobody, and return to their places afterwards.
    @Test func pausesKeepTheOrderOfTheLine() async {
        let (paused, other) = (ConcurrencyBudget(2, name: "paused"), ConcurrencyBudget(2))
        let (first, second) = (hold(1, of: paused), hold(2, of: other))
        let order = TestRecorder<Int>()
        let queue = OperationQueue()
        let line = (0..<6).map { number in
            number % 2 == 0
                ? queue.add(.cost(2, of: paused), .cost(2, of: other)) { order.record(number) }
                : queue.add(.cost(2, of: other)) { order.record(number) }
        }
        for operation in line { #expect(await comesTrue { !operation.isReady }) }
        paused.permits = 1
        #expect(
            line[4].explain().description.contains("waits for 2 of 'paused', 0 are free"))
        paused.permits = 0
        first.end.send()
        await first.operation.waitUntilFinished()
        #expect(order.events == [])
        second.end.send()
        // The others are set aside.
        for number in [1, 3, 5] { await line[number].waitUntilFinished() }
        #expect(order.events == [1, 3, 5])
        paused.permits = 1
        #expect(other.inUse == 0)
        paused.permits = 2
        await queue.drain()
        #expect(order.events == [1, 3, 5, 0, 2, 4])
        #expect(paused.inUse == 0 && other.inUse == 0)
    }

    /// A change of the number of permits looks only at the requests for which it decides.
    @Test func changesMoveNoRequestsForWhichTheyMakeNoDifference() async {
        let (budget, other) = (ConcurrencyBudget(2), ConcurrencyBudget(2, name: "other"))
        let holder = hold(2, of: budget)
        let queue = OperationQueue()
        for _ in 0..<200 { queue.add(.cost(1, of: budget)) {} }
        // These are impossible because of the other budget, whatever this one has.
        for _ in 0..<200 { queue.add(.cost(1, of: budget), .cost(2, of: other)) {} }
        #expect(await comesTrue { queue.operations.allSatisfy { !$0.isReady } })
        other.permits = 1
        #expect(other.movedCount == 200)
        for number in 0..<100 { budget.permits = number % 2 == 0 ? 1 : 2 }
        #expect(budget.movedCount == 0)
        budget.permits = 0
        #expect(budget.movedCount == 200)
        budget.permits = 2
        #expect(budget.movedCount == 400)
        other.permits = 2
        #expect(other.movedCount == 400)
        holder.end.send()
        await queue.drain()
        await holder.operation.waitUntilFinished()
        #expect(budget.inUse == 0 && other.inUse == 0)
    }

    /// The order of the line holds for more requests than one hold of the lock moves.
    @Test func manyRequestsKeepTheirOrderWhenTheyBecomePossible() async {
        let budget = ConcurrencyBudget(3)
        let holder = hold(3, of: budget)
        let queue = OperationQueue()
        let order = TestRecorder<Int>()
        for number in 0..<300 {
            let operation = queue.add(.cost(1 + number * 7 % 3, of: budget)) {
                order.record(number)
            }
            #expect(await comesTrue { !operation.isReady })
        }
        budget.permits = 0
        #expect(budget.movedCount == 300)
        holder.end.send()
        await holder.operation.waitUntilFinished()
        budget.permits = 3
        await queue.drain()
        #expect(order.events.count == 300 && budget.inUse == 0)
        for (position, number) in order.events.enumerated() {
            // One in three needs all permits, so no more than two run at the same time.
            #expect(abs(position - number) <= 1)
        }
    }

    /// One hold of the lock grants a part of the requests, and the rest is granted after it.
    @Test func oneHoldGrantsAPartOfManyRequests() async {
        let budget = ConcurrencyBudget(1)
        let holder = hold(1, of: budget)
        let queue = OperationQueue()
        let operations = (0..<200).map { _ in queue.add(.cost(1, of: budget)) {} }
        #expect(await comesTrue { operations.allSatisfy { !$0.isReady } })
        let granted = ConcurrencyBudget.lock.withLock {
            budget.setTotal(1_000)
            return ConcurrencyBudget.grantPermits(of: [budget])
        }
        #expect(granted.requests.count == 64 && granted.unserved.count == 1)
        #expect(budget.inUse == 65)
        PermitRequest.startGranted(granted)
        await queue.drain()
        holder.end.send()
        await holder.operation.waitUntilFinished()
        #expect(budget.inUse == 0)
    }

    @Test func largeCostIsNotOvertaken() async {
        let budget = ConcurrencyBudget(4)
        let holder = hold(2, of: budget)
        let queue = OperationQueue()
        let order = TestRecorder<String>()
        let large = queue.add("large", .cost(4, of: budget)) { order.record("large") }
        #expect(await comesTrue { !large.isReady })
        for _ in 0..<5 { queue.add(.cost(1, of: budget)) { order.record("small") } }
        // Two permits are free all the time.
        await queue.add {}.waitUntilFinished()
        #expect(order.events.isEmpty && budget.inUse == 2)
        holder.end.send()
        await queue.drain()
        #expect(order.events.first == "large" && order.events.count == 6)
    }

    /// The waiting operation is not ready, and so holds back later operations even if a slot is
    /// free.
    @Test(arguments: [1, -1])
    func permitWaiterIsNotOvertakenInFIFOQueue(width: Int) async {
        let budget = ConcurrencyBudget(1)
        let holder = hold(1, of: budget)
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = width
        queue.order = .fifo
        let order = TestRecorder<String>()
        let first = queue.add("first", .cost(1, of: budget)) { order.record("first") }
        #expect(await comesTrue { !first.isReady })
        let second = queue.add("second") { order.record("second") }
        #expect(queue.event { $0.best() == nil } && !second.isFinished)
        holder.end.send()
        await queue.drain()
        #expect(order.events.count == 2)
        if width == 1 { #expect(order.events == ["first", "second"]) }
    }

    /// The second operation waited for its permit before the order became strict.
    @Test func permitsGiveNoPrecedenceInFIFOQueue() async {
        let budget = ConcurrencyBudget(1)
        let holder = hold(1, of: budget)
        let queue = OperationQueue()
        let order = TestRecorder<String>()
        let key = Operation()
        let first = BlockOperation { order.record("first") }
        first.addDependency(key)
        queue.addOperation(first)
        let second = queue.add("second", .cost(1, of: budget)) { order.record("second") }
        #expect(await comesTrue { !second.isReady })
        queue.maxConcurrentOperationCount = 1
        queue.order = .fifo
        holder.end.send()
        await holder.operation.waitUntilFinished()
        // The second operation may hold the permit for a moment.
        #expect(await comesTrue { budget.inUse == 0 })
        #expect(queue.event { $0.best() == nil } && !second.isFinished)
        key.start()
        await queue.drain()
        #expect(order.events == ["first", "second"] && budget.inUse == 0)
    }

    @Test func waiterInSuspendedQueueHoldsBackNoOther() async {
        let budget = ConcurrencyBudget(4)
        let holder = hold(4, of: budget)
        let (first, second) = (OperationQueue(), OperationQueue())
        let order = TestRecorder<String>()
        let early = first.add("early", .cost(4, of: budget)) { order.record("early") }
        #expect(await comesTrue { !early.isReady })
        second.add("late", .cost(4, of: budget)) { order.record("late") }
        first.isSuspended = true
        holder.end.send()
        await second.drain()
        #expect(order.events == ["late"] && budget.inUse == 0)
        // The thread that offers the permits may not have done so yet.
        #expect(await comesTrue { early.explain().description.contains("is suspended") })
        first.isSuspended = false
        await first.drain()
        #expect(order.events == ["late", "early"] && budget.inUse == 0)
    }

    /// An operation holds permits only together with a slot. Otherwise these operations would wait
    /// for each other forever.
    @Test func waiterInFullQueueHoldsBackNoOther() async {
        let budget = ConcurrencyBudget(1)
        let holder = hold(1, of: budget)
        let (narrow, wide) = (serialQueue(), OperationQueue())
        let early = narrow.add("early", .cost(1, of: budget)) {}
        #expect(await comesTrue { !early.isReady })
        let (started, proceed) = (Signal(), Signal())
        let nested = wide.add("nested", .cost(1, of: budget)) { 1 }
        let outer = narrow.add("outer") {
            started.send()
            proceed.wait()
            nested.waitUntilFinished()
        }
        #expect(await started.arrives())
        holder.end.send()
        proceed.send()
        await narrow.drain()
        #expect(early.isFinished && outer.isFinished && nested.isFinished)
    }

    @Test func severalBudgetsDoNotDeadlock() async {
        let budgets = (0..<3).map { ConcurrencyBudget(2, name: "\($0)") }
        let queues = (0..<3).map { _ in OperationQueue() }
        var random = SplitMix64(seed: 5)
        let runs = Tally()
        for index in 0..<900 {
            let (a, b) = (random.below(3), random.below(3))
            queues[index % 3].add(
                .cost(1 + random.below(2), of: budgets[a]), .cost(a == b ? 0 : 1, of: budgets[b])
            ) { runs.increment() }
        }
        for queue in queues { await queue.drain() }
        #expect(runs.value == 900 && budgets.allSatisfy { $0.inUse == 0 })
    }

    @Test func cancelledWaiterIsRemoved() async {
        let budget = ConcurrencyBudget(2)
        let holder = hold(1, of: budget)
        let queue = OperationQueue()
        let large = queue.add(.cost(2, of: budget)) {}
        #expect(await comesTrue { !large.isReady })
        let small = queue.add(.cost(1, of: budget)) { 1 }
        large.cancel()
        await small.waitUntilFinished()
        #expect(large.isCancelled && budget.inUse == 1)
        holder.end.send()
        await queue.drain()
    }

    @Test func permitsOfBudgetCanBeChanged() async {
        let budget = ConcurrencyBudget(2)
        let holder = hold(2, of: budget)
        let queue = OperationQueue()
        let large = queue.add("large", .cost(2, of: budget)) {}
        #expect(await comesTrue { !large.isReady })
        budget.permits = 1
        // A cost above the permits of the budget does not hold back other operations.
        let small = queue.add("small", .cost(1, of: budget)) {}
        #expect(await comesTrue { !small.isReady })
        holder.end.send()
        await small.waitUntilFinished()
        #expect(!large.isFinished)
        budget.permits = 3
        await queue.drain()
        #expect(large.isFinished && budget.inUse == 0 && budget.permits == 3)
    }

    @Test func permitsAreReturnedBetweenAttempts() async throws {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let budget = ConcurrencyBudget(1)
        let order = TestRecorder<String>()
        let feed = queue.add(
            .cost(1, of: budget), .retry(1, backoff: .constant(.seconds(1)))
        ) {
            order.record("feed \(Operation.current?.attempt ?? 0)")
            if Operation.current?.attempt == 1 { throw NoConnection() }
        }
        await clock.sleepers(1)
        #expect(budget.inUse == 0)
        await queue.add(.cost(1, of: budget)) { order.record("other") }.waitUntilFinished()
        clock.advance(by: .seconds(1))
        try await feed.value
        await queue.drain()
        #expect(order.events == ["feed 1", "other", "feed 2"] && budget.inUse == 0)
    }

    @Test func mainAndUnderlyingQueuesRespectBudget() async {
        let budget = ConcurrencyBudget(1)
        let queue = OperationQueue()
        queue.underlyingQueue = DispatchQueue(label: "own")
        let inside = Occupancy()
        for target in [queue, .main, queue, .main] {
            target.add(.cost(1, of: budget)) {
                inside.enter()
                inside.leave()
            }
        }
        await queue.drain()
        await OperationQueue.main.drain()
        #expect(inside.highest == 1 && budget.inUse == 0)
    }

    @Test func readinessChangesAreReported() async {
        let budget = ConcurrencyBudget(1)
        let holder = hold(1, of: budget)
        let queue = OperationQueue()
        let waiting = Signal()
        let seen = TestRecorder<Bool>()
        let operation = BlockOperation {}
        operation.apply(.cost(1, of: budget))
        let observation = operation.observe(\.isReady, options: .new) { _, change in
            seen.record(change.newValue ?? false)
            waiting.send()
        }
        queue.addOperation(operation)
        #expect(await waiting.arrives())
        #expect(seen.events == [false])
        holder.end.send()
        await queue.drain()
        #expect(await waiting.arrives())
        #expect(seen.events == [false, true])
        withExtendedLifetime(observation) {}
    }

    @Test func costAboveUnitsOfBudgetIsRefused() async throws {
        let budget = ConcurrencyBudget(512, name: "megabytes")
        let operation = named("render")
        operation.apply(.cost(300, of: budget), .cost(300, of: budget))
        let queue = OperationQueue()
        let misuse = #expect(throws: OperationMisuse.self) {
            try queue.addOperationChecked(operation)
        }
        #expect(misuse?.kind == .costTooHigh(cost: 600, permits: 512))
        #expect(
            misuse?.description
                == "'render' costs 600 of 'megabytes', which has only 512: it could never start; lower "
                + "the cost, or raise the permits of the budget first")
        #expect(throws: OperationMisuse.self) { try queue.addOperationsChecked([operation]) }
        budget.permits = 600
        // The budget has had enough permits before, so fewer permits now are no mistake.
        budget.permits = 0
        try queue.addOperationChecked(operation)
        budget.permits = 600
        await queue.drain()
        #expect(operation.isFinished)

        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let small = ConcurrencyBudget(1, name: "licenses")
            OperationQueue().add("compile", .cost(2, of: small)) {}
        }
        expect(result, says: "'compile' costs 2 of 'licenses', which has only 1")
    }
}
