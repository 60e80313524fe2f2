import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// Bodies of all kinds in two queues that share their workers, disturbed from all sides. A failure
/// prints its seed.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct AsyncStressTests {
    /// A thread that resumes suspended bodies in a random order.
    private final class Resumer: Sendable {
        private let state = Locked((waiting: [CheckedContinuation<Void, Never>](), isOver: false))

        func pause() async {
            await withCheckedContinuation { continuation in
                state.withLock { $0.waiting.append(continuation) }
            }
        }

        func close() { state.withLock { $0.isOver = true } }

        func run(seed: UInt64) {
            var random = SeededGenerator(seed: seed)
            while true {
                let (taken, isOver) = state.withLock { state in
                    let count = state.waiting.count
                    let index = count > 0 ? Int.random(in: 0..<count, using: &random) : nil
                    return (index.map { state.waiting.remove(at: $0) }, state.isOver)
                }
                if let taken { taken.resume() } else if isOver { return } else { yieldThread() }
            }
        }

        private func yieldThread() {
            var backoff = Backoff()
            for _ in 0..<60 { backoff.pause() }
        }
    }

    @Test(arguments: [1, 2, 3, -1], contractSeeds)
    func bodiesKeepAllGuarantees(width: Int, seed: UInt64) async {
        var random = SeededGenerator(seed: seed)
        let queues = (0..<2).map { _ in OperationQueue(width: width) }
        let (insides, resumer) = ([Occupancy(), Occupancy()], Resumer())
        let (runs, wrong, ends, over) = (TestRecorder<Int>(), Tally(), Tally(), Tally())
        let count = 3_000 / slowness
        let operations = (0..<count).map { index -> Operation in
            let (kind, turns) = (Int.random(in: 0..<8, using: &random), index % 4)
            let (queue, inside) = (queues[index % 2], insides[index % 2])
            let check: @Sendable () -> Void = {
                if Operation.current?.name != "\(index)" || OperationQueue.current !== queue {
                    wrong.increment()
                }
            }
            let (begin, end): (@Sendable () -> Void, @Sendable () -> Void) = (
                {
                    inside.enter()
                    runs.record(index)
                    check()
                },
                {
                    check()
                    inside.leave()
                }
            )
            let operation =
                kind == 7
                ? BlockOperation {
                    begin()
                    end()
                }
                : TypedOperation<Void> { () async in
                    begin()
                    await Self.suspend(kind, turns, resumer)
                    end()
                }
            operation.name = "\(index)"
            if index % 5 == 0 { operation.completionBlock = { ends.increment() } }
            return operation
        }
        let disturbances: [@Sendable (Int) -> Void] = [
            { queues[$0 % 2].isSuspended.toggle() },
            { queues[$0 % 2].observe(\.operationCount) { _, _ in }.invalidate() },
            { operations[$0].cancel() },
            { operations[$0].queuePriority = Operation.QueuePriority.veryHigh },
            { _ = queues[$0 % 2].operations.count },
            { queues[$0 % 2].addOperation {} },
            { _ = operations[$0].explain() },
        ]
        let plan = (0..<count / 4).map { _ in
            (
                disturbances[Int.random(in: 0..<disturbances.count, using: &random)],
                Int.random(in: 0..<count, using: &random)
            )
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await onThread { resumer.run(seed: seed) } }
            group.addTask {
                await onThread {
                    for (disturb, index) in plan where over.value == 0 { disturb(index) }
                    for queue in queues { queue.isSuspended = false }
                }
            }
            group.addTask {
                await onThread {
                    for (index, operation) in operations.enumerated() {
                        queues[index % 2].addOperation(operation)
                    }
                }
                for operation in operations { await operation.waitUntilFinished() }
                over.increment()
                resumer.close()
            }
        }
        for queue in queues { await queue.drain() }
        #expect(await comesTrue { ends.value == (count + 4) / 5 }, "seed \(seed)")
        #expect(wrong.value == 0, "seed \(seed)")
        let all = runs.events
        #expect(Set(all).count == all.count, "seed \(seed): a body ran twice")
        for (index, operation) in operations.enumerated() where !operation.isCancelled {
            #expect(operation.error == nil && all.contains(index), "seed \(seed)")
        }
        for (queue, inside) in zip(queues, insides) {
            #expect(inside.now == 0 && (width < 0 || inside.highest <= width), "seed \(seed)")
            #expect(queue.snapshot { $0.slots.taken } == 0, "seed \(seed)")
        }
    }

    /// Suspends the body in one of several ways, or not.
    private static func suspend(_ kind: Int, _ turns: Int, _ resumer: Resumer) async {
        switch kind {
        case 0, 1: for _ in 0..<turns { await Task.yield() }
        case 2, 3: for _ in 0..<turns { await resumer.pause() }
        case 4:
            await withTaskGroup { group in
                for _ in 0..<turns { group.addTask { await resumer.pause() } }
            }
        case 5:
            await resumer.pause()
            await Task.yield()
        default: break
        }
    }
}
