import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import Operations

/// Random graphs with conditional edges and failing operations, some of which are cancelled from
/// outside meanwhile, in part with all their dependents. A failure prints its seed.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(10)))
struct ConditionStressTests {
    struct Broken: Error {}

    final class Round {
        let operations: [Operation]
        let ran: [Tally]
        let edges: [[(Int, DependencyCondition)]]
        let queues = [OperationQueue(), serialQueue(), OperationQueue()]

        init(_ random: inout SplitMix64, count: Int) {
            let ran = (0..<count).map { _ in Tally() }
            let operations: [Operation] = (0..<count).map { index in
                let (fails, counter) = (random.happens(1, in: 5), ran[index])
                let body: @Sendable () throws -> Void = {
                    counter.increment()
                    if fails { throw Broken() }
                }
                switch random.below(3) {
                case 0:
                    return TypedOperation {
                        await Task.yield()
                        try body()
                    }
                case 1 where !fails: return BlockOperation { counter.increment() }
                default: return TypedOperation(body: body)
                }
            }
            edges = (0..<count).map { index in
                guard index > 0 else { return [] }
                return (0..<random.below(4)).map { _ in
                    let condition = DependencyCondition.allCases[random.below(3)]
                    return (max(0, index - 1 - random.below(30)), condition)
                }
            }
            (self.operations, self.ran) = (operations, ran)
            queues[2].maxConcurrentOperationCount = 3
        }

        /// Checks what must hold of each operation at the end. Returns the violations.
        func problems() -> [String] {
            operations.indices.compactMap { index in
                let operation = operations[index]
                guard operation.isFinished else { return "\(index) has not finished" }
                let unmet = edges[index].filter { dependency, condition in
                    !condition.isMet(by: operations[dependency].status.outcome)
                }
                let runs = ran[index].value
                if runs > 1 { return "\(index) ran \(runs) times" }
                if runs == 1, !unmet.isEmpty { return "\(index) ran though \(unmet) is unmet" }
                if runs == 0, !operation.isCancelled {
                    return "\(index) neither ran nor was cancelled"
                }
                if runs == 0, unmet.isEmpty, operation.cancellationReason?.isOwn != true {
                    return "\(index) was left out: \(operation.explain())"
                }
                return nil
            }
        }
    }

    @Test func conditionsHoldInRandomGraphs() async {
        for seed in seeds(count: max(2, 60 / slowness)) {
            var random = SplitMix64(seed: seed)
            let graph = Round(&random, count: 300)
            let (operations, queues) = (graph.operations, graph.queues)
            let disturbs = random.happens(2, in: 3)
            let (early, seeds) = (random.below(2) == 0, (random.next(), random.next()))
            let homes = operations.map { _ in random.below(3) }
            let edges = graph.edges
            await withTaskGroup(of: Void.self) { group in
                let connect: @Sendable (Int) -> Void = { index in
                    for (dependency, condition) in edges[index] {
                        operations[index].addDependency(operations[dependency], on: condition)
                    }
                }
                if early { operations.indices.forEach(connect) }
                group.addTask {
                    for index in operations.indices {
                        if !early { connect(index) }
                        queues[homes[index]].addOperation(operations[index])
                    }
                }
                for seed in [seeds.0, seeds.1] where disturbs {
                    group.addTask {
                        var random = SplitMix64(seed: seed)
                        for _ in 0..<20 {
                            let operation = operations[random.below(operations.count)]
                            operation.cancel(
                                random.happens(1, in: 2) ? .withDependents : .alone,
                                because: "the test")
                            if random.happens(1, in: 3) { await Task.yield() }
                        }
                    }
                }
            }
            for queue in queues { await queue.drain() }
            let problems = graph.problems()
            #expect(problems.isEmpty, "seed \(seed)")
            for operation in operations { _ = operation.error }
            guard problems.isEmpty else { return }
        }
    }
}

extension CancellationReason {
    /// Whether the operation itself was cancelled, or a cascade reached it.
    fileprivate var isOwn: Bool {
        switch self {
        case .requested, .message: true
        default: false
        }
    }
}
