import Dispatch
import Operations
import Synchronization
import Testing

/// Random graphs over several queues, disturbed from all sides, checked against what must hold.
///
/// A failure prints its seed; put it into `seeds` to see it again.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct StressTests {
    static var seeds: [UInt64] {
        var generator = SystemRandomNumberGenerator()
        return [1, 2, 3] + (0..<5).map { _ in generator.next() }
    }

    /// SplitMix64: the same numbers for the same seed, everywhere.
    struct SeededGenerator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    /// What is seen of one operation.
    final class Trace: Sendable {
        let runs = Counter()
        let completions = Counter()
        let finishedDependencies = Atomic(true)
    }

    @Test(arguments: seeds)
    func randomGraphsKeepEveryPromise(seed: UInt64) async {
        var random = SeededGenerator(state: seed)
        let queues = [1, 2, 5, -1].map { width in
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = width
            return (queue: queue, width: width, inside: Occupancy())
        }
        let traces = (0..<1_000).map { _ in Trace() }
        var operations: [Operation] = []
        var homes: [Int] = []
        for index in traces.indices {
            let home = Int.random(in: queues.indices, using: &random)
            let dependencies =
                operations.isEmpty
                ? []
                : (0..<Int.random(in: 0...3, using: &random)).map {
                    _ in operations[Int.random(in: max(0, index - 30)..<index, using: &random)]
                }
            let (trace, inside) = (traces[index], queues[home].inside)
            let work: @Sendable () -> Void = {
                inside.enter()
                trace.runs.increment()
                if !dependencies.allSatisfy(\.isFinished) {
                    trace.finishedDependencies.store(false, ordering: .relaxed)
                }
                inside.leave()
            }
            let operation: Operation =
                switch index % 3 {
                case 0: BlockOperation(block: work)
                case 1: DispatchedOperation(work)
                default: AsyncOperation { work() }
                }
            for dependency in dependencies { operation.addDependency(dependency) }
            operation.completionBlock = { trace.completions.increment() }
            operations.append(operation)
            homes.append(home)
        }

        let cancelled = Set((0..<100).map { _ in Int.random(in: traces.indices, using: &random) })
        let disturbances = Task.detached { [operations, seed] in
            var random = SeededGenerator(state: ~seed)
            for index in cancelled.sorted() {
                operations[index].cancel()
                let other = operations[Int.random(in: operations.indices, using: &random)]
                other.queuePriority =
                    Operation.QueuePriority.allCases.randomElement(using: &random) ?? .low
                let queue = queues[Int.random(in: queues.indices, using: &random)].queue
                queue.isSuspended.toggle()
                await Task.yield()
            }
            for queue in queues { queue.queue.isSuspended = false }
        }
        for index in operations.indices.shuffled(using: &random) {
            queues[homes[index]].queue.addOperation(operations[index])
        }
        await disturbances.value
        for queue in queues { await queue.queue.drain() }

        for (index, trace) in traces.enumerated() {
            #expect(trace.runs.value <= 1, "seed \(seed)")
            if !cancelled.contains(index) { #expect(trace.runs.value == 1, "seed \(seed)") }
            #expect(operations[index].isFinished, "seed \(seed)")
            let sawAll = trace.finishedDependencies.load(ordering: .relaxed)
            // A cancelled operation may start before its dependencies, but then does not run its work;
            // one that was cancelled after its start had them all.
            #expect(sawAll, "seed \(seed)")
        }
        for queue in queues where queue.width > 0 {
            #expect(queue.inside.highest <= queue.width, "seed \(seed)")
        }
        while traces.contains(where: { $0.completions.value < 1 }) { await Task.yield() }
        #expect(traces.allSatisfy { $0.completions.value == 1 }, "seed \(seed)")
    }

    @Test func producersOnManyThreadsLoseNothing() async {
        let queue = OperationQueue()
        let runs = Counter()
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
            let gone: Counter
            init(_ gone: Counter) { self.gone = gone }
            deinit { gone.increment() }
        }
        let gone = Counter()
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
        while gone.value < 1_000 { await Task.yield() }
    }
}
