import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// Runs random operations with traits in several queues while random changes disturb them.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct TraitStressTests {
    @Test(arguments: seeds(count: 8)) func noOperationIsLostOrRunsTooOften(seed: UInt64) async {
        await TraitStress(seed: seed).run()
    }
}

private final class TraitStress: Sendable {
    private final class Trace: Sendable {
        let limit: Int
        let runs = Tally()
        let inside = Occupancy()
        let completions = Tally()
        init(limit: Int) { self.limit = limit }
    }

    private final class Use: Sendable {
        let budget: ConcurrencyBudget
        let most: Int
        let used = Atomic<Int>(0)
        init(_ permits: Int, most: Int, name: String) {
            budget = ConcurrencyBudget(permits, name: name)
            self.most = most
        }
    }

    private static let keyCount = 3

    private let seed: UInt64
    private let clock = ManualClock()
    private let queues: [OperationQueue]
    private let uses = [Use(4, most: 5, name: "permits"), Use(3, most: 3, name: "pipes")]
    private let exclusive: [[Occupancy]]
    private let limited: [[Occupancy]]
    private let violations = TestRecorder<String>()

    init(seed: UInt64) {
        self.seed = seed
        let clock = clock
        queues = [1, 2, 4, -1].map { width in
            let queue = OperationQueue(clock, width: width)
            queue.name = "width \(width)"
            queue.random = RandomSource(seed: seed)
            return queue
        }
        exclusive = queues.map { _ in (0..<Self.keyCount).map { _ in Occupancy() } }
        limited = queues.map { _ in (0..<Self.keyCount).map { _ in Occupancy() } }
    }

    func run() async {
        var random = SplitMix64(seed: seed)
        var traces: [Trace] = []
        var operations: [Operation] = []
        for index in 0..<300 {
            let (operation, trace) = make(index, &random)
            if random.happens(1, in: 6), let dependency = operations.last {
                operation.addDependency(dependency)
            }
            operations.append(operation)
            traces.append(trace)
            queues[index % queues.count].addOperation(operation)
            disturb(operations, &random)
            if random.happens(1, in: 4) { await Task.yield() }
        }
        for queue in queues { queue.isSuspended = false }
        uses[0].budget.permits = 5
        let end = TestEnd()
        while operations.contains(where: { !$0.isFinished }) {
            clock.advance(by: .milliseconds(random.below(20)))
            await Task.yield()
            guard !end.hasCome else {
                let stuck = queues.map { "\($0.explain())" }.joined(separator: "\n")
                Issue.record("seed \(seed) is stuck:\n\(stuck)")
                return
            }
        }
        for queue in queues { await queue.drain() }
        await check(operations, traces)
    }

    private func check(_ operations: [Operation], _ traces: [Trace]) async {
        for (operation, trace) in zip(operations, traces) {
            let runs = trace.runs.value
            if runs > trace.limit + 1 { violations.record("\(operation) ran \(runs) times") }
            if trace.inside.highest > 1 { violations.record("\(operation) ran twice at a time") }
            let outcome = operation.status.outcome
            if outcome == .succeeded, runs == 0 { violations.record("\(operation) never ran") }
            if outcome == .failed, operation.error == nil {
                violations.record("\(operation): no error")
            }
        }
        #expect(violations.events.isEmpty, "seed \(seed): \(violations.events)")
        #expect(uses.allSatisfy { $0.budget.inUse == 0 }, "seed \(seed): permits are missing")
        for queue in queues {
            // A worker that returns an operation to its queue frees the slot a little later.
            #expect(await comesTrue { queue.snapshot { $0.slots.taken } == 0 }, "seed \(seed)")
            #expect(queue.operationCount == 0, "seed \(seed)")
            let keys = queue.keys
            let rest = [
                keys.joined.count, keys.latest.count, keys.exclusive.count, keys.limited.count,
            ]
            #expect(rest == [0, 0, 0, 0], "seed \(seed)")
        }
        #expect(await clock.becomesQuiet(), "seed \(seed): timers remain")
    }

    private func disturb(_ operations: [Operation], _ random: inout SplitMix64) {
        let victim = operations[random.below(operations.count)]
        switch random.below(20) {
        case 0, 1: victim.cancel()
        case 2: queues[random.below(queues.count)].isSuspended = true
        case 3...6: queues[random.below(queues.count)].isSuspended = false
        case 7...12: clock.advance(by: .milliseconds(random.below(10)))
        case 13: uses[0].budget.permits = 2 + random.below(4)
        case 14: victim.queuePriority = .high
        case 15 where random.happens(1, in: 10): queues[random.below(4)].cancelAllOperations()
        default: break
        }
    }

    private func make(_ index: Int, _ random: inout SplitMix64) -> (Operation, Trace) {
        let place = index % queues.count
        let limit = random.happens(1, in: 2) ? random.below(4) : 0
        let trace = Trace(limit: limit)
        var traits: [OperationTrait] = []
        var costs = [0, 0]
        if limit > 0 {
            let backoffs: [RetryBackoff] = [
                .none, .constant(.milliseconds(3)), .exponential(from: .milliseconds(2)),
            ]
            traits.append(.retry(limit, backoff: backoffs[random.below(3)]))
        }
        if random.happens(1, in: 4) { traits.append(.delay(.milliseconds(random.below(20)))) }
        if random.happens(1, in: 8) { traits.append(.timeout(.milliseconds(random.below(10)))) }
        if random.happens(1, in: 8) {
            traits.append(.deadline(in: .milliseconds(random.below(99))))
        }
        for budget in 0..<2 where random.happens(1, in: 3) {
            costs[budget] = 1 + random.below(3)
            traits.append(.cost(costs[budget], of: uses[budget].budget))
        }
        let key = random.below(Self.keyCount)
        let isExclusive = random.happens(1, in: 4)
        let isLimited = random.happens(1, in: 4)
        if isExclusive { traits.append(.exclusive(by: key)) }
        if isLimited { traits.append(.limited(to: 2, by: key)) }
        if random.happens(1, in: 20) { traits.append(.coalesced(by: key)) }
        let fails = random.below(5)
        let work = random.below(200)

        let occupancies =
            (isExclusive ? [exclusive[place][key]] : []) + (isLimited ? [limited[place][key]] : [])
        let begin: @Sendable () -> Void = { [self, costs] in
            trace.runs.increment()
            trace.inside.enter()
            for occupancy in occupancies { occupancy.enter() }
            for (use, cost) in zip(uses, costs) {
                let used = use.used.wrappingAdd(cost, ordering: .acquiringAndReleasing).newValue
                if used > use.most { violations.record("\(used) of \(use.most) are in use") }
            }
            if isExclusive, exclusive[place][key].highest > 1 { violations.record("not exclusive") }
            if isLimited, limited[place][key].highest > 2 { violations.record("not limited") }
        }
        let end: @Sendable () throws -> Void = { [self, costs] in
            for (use, cost) in zip(uses, costs) {
                use.used.wrappingSubtract(cost, ordering: .acquiringAndReleasing)
            }
            for occupancy in occupancies { occupancy.leave() }
            trace.inside.leave()
            if trace.runs.value <= fails { throw NoConnection(number: trace.runs.value) }
        }
        let operation: TypedOperation<Void>
        if random.happens(1, in: 2) {
            operation = TypedOperation {
                begin()
                for _ in 0..<work { _ = self.clock.now }
                try end()
            }
        } else {
            operation = TypedOperation { () async throws in
                begin()
                for _ in 0..<work / 40 { await Task.yield() }
                try end()
            }
        }
        operation.name = "\(index)"
        operation.apply(traits)
        operation.completionBlock = {
            if trace.completions.increment() > 1 { self.violations.record("\(index) ended twice") }
        }
        return (operation, trace)
    }
}
