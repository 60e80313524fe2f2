import OperationsRuntime
import OperationsTestSupport
import Synchronization
import Testing

import class Foundation.ProcessInfo

@testable import Operations

/// Random producers of blocks, disturbed by threads that materialize, cancel, suspend and count.
///
/// A failure prints its seed; `OPERATIONS_STRESS_SEED` runs that seed alone, and
/// `OPERATIONS_STRESS_OPERATIONS` says how many blocks to run altogether.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(60)))
struct BlockStressTests {
    /// What happened to the blocks of one round.
    private final class Round: Sendable {
        let queue = OperationQueue()
        let runs: [Tally]
        let releases = Tally()
        let problems = Locked([String]())
        let cancels: Bool
        let isSerial: Bool
        /// The number of the last block of each producer that has run.
        let lastRun: Locked<[Int]>
        let others = Tally()
        let added = Atomic<Int>(0)

        static let producers = 3

        init(_ random: inout SplitMix64, count: Int) {
            runs = (0..<Self.producers * count).map { _ in Tally() }
            cancels = random.happens(1, in: 3)
            let width = [1, 1, 2, 4, -1][random.below(5)]
            isSerial = width == 1
            queue.maxConcurrentOperationCount = width
            lastRun = Locked(Array(repeating: -1, count: Self.producers))
        }

        func report(_ problem: String) { problems.withLock { $0.append(problem) } }

        func add(_ index: Int, of producer: Int, count: Int, asks: Int) {
            let token = Token(releases)
            added.add(1, ordering: .relaxed)
            queue.addOperation { [self] in
                withExtendedLifetime(token) {
                    if runs[producer * count + index].increment() > 1 { report("ran twice") }
                    if OperationQueue.current !== queue { report("another queue") }
                    lastRun.withLock {
                        if isSerial, $0[producer] > index { report("not in order") }
                        $0[producer] = index
                    }
                    ask(asks)
                }
            }
        }

        /// What some bodies do.
        private func ask(_ asks: Int) {
            switch asks {
            case 0:
                guard let own = Operation.current else { return report("no operation") }
                if !own.isExecuting { report("\(own) does not execute") }
                if own.isCancelled, !cancels { report("\(own) is cancelled") }
            case 1:
                if !queue.operations.contains(where: { $0 === Operation.current }) {
                    report("the operation is not in its queue")
                }
            case 2:
                queue.addOperation { [others] in others.increment() }
            case 3:
                let other = OperationQueue()
                other.addOperation { [others] in others.increment() }
                other.waitUntilAllOperationsAreFinished()
            default: break
            }
        }

        /// Does one thing that may disturb the blocks.
        func disturb(_ random: inout SplitMix64) {
            switch random.below(10) {
            case 0, 1:
                let operations = queue.operations
                if Set(operations).count != operations.count { report("an operation twice") }
            case 2: queue.isSuspended.toggle()
            case 3: queue.addBarrierBlock {}
            case 4: queue.addOperation(BlockOperation { [others] in others.increment() })
            case 5:
                let urgent = BlockOperation { [others] in others.increment() }
                urgent.queuePriority = .veryHigh
                queue.addOperation(urgent)
            case 6: queue.operations.randomElement(using: &random)?.completionBlock = {}
            case 7: _ = queue.explain()
            case 8 where cancels && random.happens(1, in: 4): queue.cancelAllOperations()
            default: if queue.operationCount < 0 { report("a negative count") }
            }
        }

        /// Checks what must hold at the end.
        func check() async {
            if !cancels, let index = runs.firstIndex(where: { $0.value != 1 }) {
                report("block \(index) ran \(runs[index].value) times")
            }
            if queue.operationCount != 0 { report("\(queue.operationCount) are left") }
            let (isEmpty, ready) = queue.snapshot { ($0.isEmpty, $0.ready.count) }
            if !isEmpty || ready != 0 { report("not empty: \(ready)") }
            // A worker may be about to retire a claim whose entries have all left before.
            let isRetired = await comesTrue {
                self.queue.snapshot { $0.slots.claims.isEmpty && $0.slots.taken == 0 }
            }
            if !isRetired { report("a claim or a slot is left") }
            let total = added.load(ordering: .relaxed)
            if !(await comesTrue { self.releases.value == total }) { report("not released") }
        }
    }

    private static let total =
        ProcessInfo.processInfo.environment["OPERATIONS_STRESS_OPERATIONS"].flatMap { Int($0) }
        ?? 20_000

    @Test func disturbedBlocksKeepAllGuarantees() async {
        let given = ProcessInfo.processInfo.environment["OPERATIONS_STRESS_SEED"].flatMap {
            UInt64($0)
        }
        var system = SystemRandomNumberGenerator()
        let count = 300
        for round in 0..<max(1, Self.total / (count * Round.producers)) {
            let seed = given ?? (round < 3 ? UInt64(round + 1) : system.next())
            let problems = await Self.run(seed, count: count)
            #expect(problems.isEmpty, "OPERATIONS_STRESS_SEED=\(seed)")
            if given != nil || !problems.isEmpty { return }
        }
    }

    private static func run(_ seed: UInt64, count: Int) async -> [String] {
        var random = SplitMix64(seed: seed)
        let round = Round(&random, count: count)
        let disturbances = [0, 3, 30, 200][random.below(4)]
        let asks = [5, 20, 1_000][random.below(3)]
        let seeds = (0...Round.producers).map { _ in random.next() }
        await withTaskGroup(of: Void.self) { group in
            for producer in 0..<Round.producers {
                group.addTask {
                    await onThread {
                        var random = SplitMix64(seed: seeds[producer])
                        for index in 0..<count {
                            round.add(index, of: producer, count: count, asks: random.below(asks))
                            // Lets the workers catch up, so that they claim claims again.
                            guard random.happens(1, in: 100) else { continue }
                            round.queue.isSuspended = false
                            while round.queue.operationCount > 2, random.below(1_000) > 0 {
                                round.queue.isSuspended = false
                            }
                        }
                    }
                }
            }
            group.addTask {
                await onThread {
                    var random = SplitMix64(seed: seeds[Round.producers])
                    for _ in 0..<disturbances { round.disturb(&random) }
                    round.queue.isSuspended = false
                }
            }
        }
        round.queue.isSuspended = false
        await round.queue.drain()
        await round.check()
        return round.problems.withLock { $0 }
    }
}
