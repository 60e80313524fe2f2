import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// Groups of operations that take turns.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct FairShareTests {
    /// Adds an operation of a group, which records its name when it starts.
    private static func add(
        _ name: String, _ traits: [OperationTrait], to steps: StepQueue,
        _ recorder: TestRecorder<String>
    ) {
        let operation = BlockOperation { recorder.record(name) }
        operation.apply(traits)
        steps.queue.addOperation(operation)
    }

    /// The order in which operations start that are added in the given order, by name and traits.
    private func starts(
        _ operations: [(String, [OperationTrait])], in order: OperationQueueOrder = .priority,
        aging: Duration? = nil
    ) -> [String] {
        let (steps, recorder) = (StepQueue(), TestRecorder<String>())
        steps.queue.order = order
        steps.queue.aging = aging
        for (name, traits) in operations { Self.add(name, traits, to: steps, recorder) }
        while steps.queue.operationCount > 0 { steps.step() }
        return recorder.events
    }

    @Test func groupsTakeTurns() {
        let operations: [(String, [OperationTrait])] =
            (1...4).map { ("a\($0)", [.group("a")]) }
            + (1...2).map { ("b\($0)", [.group("b")]) } + [("c1", [.group("c")])]
        #expect(starts(operations) == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"])
    }

    @Test func weightsAreProportions() {
        let operations: [(String, [OperationTrait])] =
            (1...6).map { ("a\($0)", [.group("a", weight: 2)]) }
            + (1...3).map { ("b\($0)", [.group("b")]) }
        let starts = starts(operations)
        for count in [3, 6, 9] {
            let first = starts.prefix(count)
            #expect(first.count { $0.hasPrefix("a") } == count * 2 / 3, "\(starts)")
        }
    }

    @Test func greatWeightsAreProportionsToo() {
        let operations: [(String, [OperationTrait])] =
            (1...10).map { ("a\($0)", [.group("a", weight: 1_000_000)]) }
            + (1...10).map { ("b\($0)", [.group("b", weight: 600_000)]) }
        let starts = starts(operations)
        #expect(starts.prefix(16).count { $0.hasPrefix("a") } == 10, "\(starts)")
    }

    @Test func operationsWithoutAGroupAreOneGroup() {
        let operations: [(String, [OperationTrait])] =
            (1...3).map { ("-\($0)", []) } + (1...2).map { ("a\($0)", [.group("a")]) }
        #expect(starts(operations) == ["-1", "a1", "-2", "a2", "-3"])
    }

    @Test func priorityComesFirstAndTheOrderDecidesWithinAGroup() {
        let operations: [(String, [OperationTrait])] = [
            ("a1", [.group("a")]), ("a2", [.group("a")]), ("a3", [.group("a"), .priority(.high)]),
            ("b1", [.group("b")]), ("a4", [.group("a"), .priority(.high)]),
        ]
        #expect(starts(operations) == ["a3", "a4", "a1", "b1", "a2"])
        #expect(starts(operations, in: .lifo) == ["a4", "a3", "b1", "a2", "a1"])
        #expect(starts(operations, in: .fifo) == ["a1", "a2", "a3", "b1", "a4"])
        // No time passes here, so nothing rises.
        #expect(starts(operations, aging: .seconds(1)) == ["a3", "a4", "a1", "b1", "a2"])
    }

    @Test func aGroupCanNeitherSaveTurnsNorGainThemByGoingAway() {
        let (steps, recorder) = (StepQueue(), TestRecorder<String>())
        func add(_ name: String, _ group: String) {
            Self.add(name, [.group(group)], to: steps, recorder)
        }
        for number in 1...8 { add("a\(number)", "a") }
        for _ in 1...4 { steps.step() }
        // It was away during four turns, and gets one turn for each of the other group.
        add("b1", "b")
        add("b2", "b")
        for _ in 1...2 { steps.step() }
        #expect(Set(recorder.events.suffix(2)) == ["a5", "b1"])
        steps.step()
        // It always has one operation, which it adds when its last one has started.
        for number in 3...6 {
            add("b\(number)", "b")
            steps.step()
        }
        let last = recorder.events.suffix(4).filter { $0.hasPrefix("b") }
        #expect(last.count == 2, "\(recorder.events)")
    }

    @Test func theQueueForgetsGroupsWhenItIsEmpty() async {
        let queue = OperationQueue()
        for number in 0..<1_000 { queue.add(.group(number % 100)) {} }
        await queue.drain()
        #expect(queue.snapshot { $0.ready.order.isDefault && $0.ready.rescheduled.groupCount == 0 })
        // Blocks take their fast path again.
        #expect(queue.snapshot { $0.takesBlocks })
    }

    /// An operation that is refused for lack of permits, and comes back, has used one turn only.
    @Test func anOperationTakesOneTurn() {
        let (steps, recorder) = (StepQueue(), TestRecorder<String>())
        let budget = ConcurrencyBudget(0)
        // The budget has had a permit, so that the operation can be added.
        budget.permits = 1
        budget.permits = 0
        Self.add("a1", [.group("a"), .cost(1, of: budget)], to: steps, recorder)
        steps.step()
        for name in ["a2", "a3", "b1", "b2"] {
            Self.add(name, [.group(String(name.prefix(1)))], to: steps, recorder)
        }
        steps.queue.maxConcurrentOperationCount = 0
        for _ in 0..<5 {
            budget.permits = 1
            budget.permits = 0
        }
        budget.permits = 1
        steps.queue.maxConcurrentOperationCount = 1
        while steps.queue.operationCount > 0 { steps.step() }
        // Group a has had one turn in advance.
        let others = recorder.events.filter { $0 != "a1" }
        #expect(others.first == "b1" && others.count == 4, "\(recorder.events)")
        #expect(others != ["b1", "b2", "a2", "a3"], "\(recorder.events)")
    }

    @Test func aBarrierHoldsInGroups() {
        let (steps, recorder) = (StepQueue(), TestRecorder<String>())
        Self.add("a1", [.group("a")], to: steps, recorder)
        Self.add("a2", [.group("a")], to: steps, recorder)
        steps.queue.addBarrierBlock { recorder.record("|") }
        Self.add("b1", [.group("b")], to: steps, recorder)
        Self.add("a3", [.group("a")], to: steps, recorder)
        for _ in 1...5 { steps.step() }
        #expect(recorder.events.prefix(3) == ["a1", "a2", "|"])
        #expect(Set(recorder.events.suffix(2)) == ["b1", "a3"])
    }

    @Test func changesOfPriorityKeepTheGroup() {
        let (steps, recorder) = (StepQueue(), TestRecorder<String>())
        for name in ["a1", "a2", "a3", "b1", "b2"] {
            Self.add(name, [.group(String(name.prefix(1)))], to: steps, recorder)
        }
        for operation in steps.queue.operations { operation.queuePriority = .high }
        steps.queue.order = .lifo
        steps.queue.order = .priority
        for _ in 1...5 { steps.step() }
        #expect(recorder.events == ["a1", "b1", "a2", "b2", "a3"])
    }

    /// Compares random additions, cancellations and starts with the plain rule.
    @Test(arguments: seeds(count: rounds(40)))
    func groupsFollowThePlainRule(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let (steps, recorder) = (StepQueue(), TestRecorder<Int>())
        var model = FairModel()
        var operations: [Int: Operation] = [:]
        for number in 0..<400 {
            switch random.below(10) {
            case 0..<5:
                let item = FairModel.Item(
                    number: number, group: random.below(6), weight: 1 + random.below(3),
                    lane: random.below(2))
                model.add(item)
                let operation = BlockOperation { recorder.record(number) }
                operation.queuePriority = item.lane == 0 ? .normal : .high
                if item.group > 0 {
                    operation.apply(.group(item.group, weight: item.weight))
                }
                operations[number] = operation
                steps.queue.addOperation(operation)
            case 5:
                let waiting = operations.keys.sorted()
                guard !waiting.isEmpty else { continue }
                let number = waiting[random.below(waiting.count)]
                operations.removeValue(forKey: number)?.cancel()
                model.remove(number)
                while steps.hasCancelled { steps.step() }
            default:
                let count = recorder.events.count
                steps.step()
                let started = recorder.events.dropFirst(count).first
                let expected = model.candidates
                #expect(started.map { expected.contains($0) } ?? expected.isEmpty, "seed \(seed)")
                guard let started else { continue }
                model.start(started)
                operations[started] = nil
            }
            if steps.queue.operationCount == 0 { model.forget() }
        }
        steps.queue.cancelAllOperations()
        while steps.queue.operationCount > 0 { steps.step() }
    }

    @Test func theExplanationNamesTheGroup() async throws {
        let queue = OperationQueue(width: 1)
        let (gate, began) = (AsyncGate(), Signal())
        queue.add("first") { () async throws in
            began.send()
            try await gate.wait()
        }
        #expect(await began.arrives())
        let a = queue.add("a", .group("acme")) {}
        let b = queue.add("b") {}
        let c = queue.add("c", .group("other")) {}
        #expect(
            a.explain().description.contains(
                "'a' starts when its turn comes: its group 'acme' is one of 3 that take turns"))
        #expect(b.explain().description.contains("operations without a group are one of 3"))
        gate.open()
        await queue.drain()
        #expect(c.isFinished)
    }

    @Test func manyGroupsCostWhatTheyHold() async {
        await Growth.expectNearLinear(from: 2_000) { count in
            let queue = suspendedQueue()
            for number in 0..<count { queue.add(.group(number % (count / 2))) {} }
            #expect(queue.snapshot { $0.ready.rescheduled.groupCount } == count / 2)
            queue.isSuspended = false
            await queue.drain()
            #expect(queue.snapshot { $0.ready.rescheduled.groupCount } == 0)
        }
    }

    @Test func aGroupWithAnImpossibleWeightIsRefused() async {
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = OperationTrait.group("a", weight: 0)
        }
    }
}

/// Which group's turn it is, by the plain meaning of the rule.
private struct FairModel {
    struct Item {
        let number: Int
        let group: Int
        let weight: Int
        let lane: Int
    }

    private struct Lane {
        var time: Int128 = 0
        var starts: [Int: Int128] = [:]
    }

    private var items: [Item] = []
    private var lanes = [Lane(), Lane()]

    mutating func add(_ item: Item) {
        let others = items.filter { $0.lane == item.lane && $0.group == item.group }
        if others.isEmpty {
            let lane = lanes[item.lane]
            lanes[item.lane].starts[item.group] = max(lane.starts[item.group] ?? 0, lane.time)
        }
        items.append(item)
    }

    mutating func remove(_ number: Int) { items.removeAll { $0.number == number } }

    mutating func forget() { lanes = [Lane(), Lane()] }

    /// The operations that may be next; several, if groups have equal starts.
    var candidates: Set<Int> {
        guard let lane = items.map(\.lane).max() else { return [] }
        var firsts: [Int: Int] = [:]
        for item in items where item.lane == lane && firsts[item.group] == nil {
            firsts[item.group] = item.number
        }
        let starts = lanes[lane].starts
        guard let least = firsts.keys.compactMap({ starts[$0] }).min() else { return [] }
        return Set(firsts.filter { starts[$0.key] == least }.map(\.value))
    }

    mutating func start(_ number: Int) {
        guard let item = items.first(where: { $0.number == number }) else { return }
        let start = lanes[item.lane].starts[item.group] ?? 0
        lanes[item.lane].time = max(lanes[item.lane].time, start)
        let weight = item.group > 0 ? item.weight : 1
        lanes[item.lane].starts[item.group] = start + Int128(FairLane.unit / Int64(weight))
        remove(number)
    }
}
