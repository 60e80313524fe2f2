import OperationsTestSupport
import Synchronization
import Testing

import class Foundation.ProcessInfo

@testable import Operations

/// Random graphs over several queues, disturbed from all sides, with checks of all guarantees.
///
/// A failure prints its seed; `OPERATIONS_STRESS_SEED` runs that seed alone, and
/// `OPERATIONS_STRESS_OPERATIONS` says how many operations to run altogether.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(60)))
struct StressTests {
    static let total =
        ProcessInfo.processInfo.environment["OPERATIONS_STRESS_OPERATIONS"].flatMap { Int($0) }
        ?? 8_000

    @Test func randomGraphsKeepAllGuarantees() async {
        let given = ProcessInfo.processInfo.environment["OPERATIONS_STRESS_SEED"].flatMap {
            UInt64($0)
        }
        var system = SystemRandomNumberGenerator()
        let count = min(1_000, Self.total)
        for round in 0..<max(1, Self.total / count) {
            let seed = given ?? (round < 3 ? UInt64(round + 1) : system.next())
            let graph = StressGraph(seed: seed, count: count)
            let violations = await graph.run()
            #expect(violations.isEmpty, "OPERATIONS_STRESS_SEED=\(seed)")
            guard violations.isEmpty else { return }
            let alive = await graph.aliveAfterRelease()
            #expect(alive == 0, "OPERATIONS_STRESS_SEED=\(seed): not released")
            guard alive == 0 else { return }
            if given != nil { return }
        }
    }

    @Test func producersOnManyThreadsLoseNoOperation() async {
        let queue = OperationQueue()
        let runs = Tally()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<2_000 { queue.addOperation { runs.increment() } }
                }
            }
        }
        await queue.drain()
        #expect(runs.value == 16_000)
    }

    @Test func everythingIsReleased() async {
        final class Token: Sendable {
            let gone: Tally
            init(_ gone: Tally) { self.gone = gone }
            deinit { gone.increment() }
        }
        let gone = Tally()
        do {
            let queue = OperationQueue()
            var previous: Operation?
            for _ in 0..<1_000 {
                let token = Token(gone)
                let operation = BlockOperation { _ = token }
                operation.completionBlock = { _ = operation }
                if let previous { operation.addDependency(previous) }
                previous = operation
                queue.addOperation(operation)
            }
            await queue.drain()
        }
        #expect(await comesTrue { gone.value >= 1_000 })
    }
}
