import OperationsTestSupport
import Testing

@testable import Operations

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The processor time of a workload does not grow with the square of its size. Each test runs in a
/// process of its own, because processor time is counted for a whole process.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(10)))
struct GrowthTests {
    @Test func timedOutWaitsForOperation() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 400) { count in
                let operation = BlockOperation {}
                await withTaskGroup { group in
                    for _ in 0..<count {
                        group.addTask { _ = await operation.finished(within: .milliseconds(50)) }
                    }
                }
                operation.start()
            }
        }
    }

    @Test func timedOutWaitsForQueue() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 400) { count in
                let queue = suspendedQueue()
                queue.addOperation {}
                await withTaskGroup { group in
                    for _ in 0..<count {
                        group.addTask { _ = await queue.finished(within: .milliseconds(50)) }
                    }
                }
                queue.isSuspended = false
                await queue.drain()
            }
        }
    }

    @Test(arguments: [false, true]) func barriers(areCancelled: Bool) async {
        await #expect(processExitsWith: .success) { [areCancelled] in
            await Growth.expectNearLinear(from: 2_000) { count in
                let queue = suspendedQueue()
                for _ in 0..<count { queue.addBarrierBlock {} }
                if areCancelled { queue.cancelAllOperations() }
                queue.isSuspended = false
                await queue.drain()
            }
        }
    }

    @Test func nestedWaits() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 30) { count in
                let queue = OperationQueue()
                _ = Growth.nested(count, in: queue)
                await queue.drain()
            }
        }
    }

    @Test func chainOfBlockedThreads() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 30) { count in
                let queue = OperationQueue()
                let proceed = Signal()
                var last: Operation = BlockOperation { proceed.wait() }
                queue.addOperation(last)
                for _ in 1..<count {
                    let (previous, began) = (last, Signal())
                    last = BlockOperation {
                        began.send()
                        previous.waitUntilFinished()
                    }
                    queue.addOperation(last)
                    await onThread { _ = began.wait() }
                }
                proceed.send()
                await queue.drain()
            }
        }
    }

    @Test func chainOfSuspendedTasks() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 200) { count in
                let queue = OperationQueue()
                let first = BlockOperation {}
                var last: Operation = first
                let began = Tally()
                for _ in 1..<count {
                    let previous = last
                    last = queue.add {
                        began.increment()
                        await previous.waitUntilFinished()
                    }
                }
                _ = await comesTrue { began.value == count - 1 }
                first.start()
                await queue.drain()
            }
        }
    }

    @Test func nestedGroups() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 30) { count in
                let queue = OperationQueue()
                queue.addOperation(Growth.nestedGroups(count) {})
                await queue.drain()
            }
        }
    }

    @Test func nestedGroupsCancelledBeforeStart() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 100) { count in
                let outermost = Growth.nestedGroups(count) { Issue.record("a cancelled body ran") }
                outermost.cancel()
                outermost.start()
            }
        }
    }

    @Test func nestedProgress() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 300) { count in
                let root = Progress.discreteProgress(totalUnitCount: 1)
                var last = root
                for _ in 0..<count {
                    last = Progress(totalUnitCount: 1, parent: last, pendingUnitCount: 1)
                }
                root.cancel()
                #expect(last.isCancelled)
                last.completedUnitCount = 1
                #expect(root.isFinished)
            }
        }
    }

    @Test(arguments: [false, true]) func endedObservations(areEndedInOrder: Bool) async {
        await #expect(processExitsWith: .success) { [areEndedInOrder] in
            await Growth.expectNearLinear(from: 1_000) { count in
                let operation = BlockOperation {}
                let observations = (0..<count).map { _ in
                    operation.observe(\.isFinished) { _, _ in Issue.record("it was invalidated") }
                }
                if areEndedInOrder {
                    for observation in observations { observation.invalidate() }
                } else {
                    for observation in observations.reversed() { observation.invalidate() }
                }
                operation.start()
            }
        }
    }

    @Test func keysUnequalToThemselves() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 500) { count in
                let queue = suspendedQueue()
                for _ in 0..<count { queue.add(.exclusive(by: Double.nan)) {} }
                queue.isSuspended = false
                await queue.drain()
            }
        }
    }
}

/// Measures how the processor time of this process grows with the size of its work.
enum Growth {
    /// Ten times the work takes about 10 times as long if its cost is linear, and 100 times if it
    /// is quadratic. The limit is the cube root of 10⁵, which stands for an exponent of 5/3: other
    /// programs that evict the caches do not move a linear cost that far.
    private static let greatestRatio = 46.0

    /// Expects that the cost of `work`, a function of its size, is closer to linear than to
    /// quadratic. Compares the size `count` with ten times that, up to five times.
    static func expectNearLinear(
        from count: Int, sourceLocation: SourceLocation = #_sourceLocation,
        _ work: (Int) async -> Void
    ) async {
        await work(count)
        var least = Double.infinity
        for _ in 0..<5 where least > greatestRatio {
            let few = await time { await work(count) }
            let many = await time { await work(10 * count) }
            least = min(least, many / few)
        }
        #expect(
            least <= greatestRatio, "ten times as much work takes \(least) times as long",
            sourceLocation: sourceLocation)
    }

    private static func time(_ work: () async -> Void) async -> Double {
        let start = processorTime
        await work()
        return processorTime - start
    }

    private static var processorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Adds an operation that adds another operation and waits for it, and so on to `depth`.
    static func nested(_ depth: Int, in queue: OperationQueue) -> Operation {
        let operation = BlockOperation {
            if depth > 1 { nested(depth - 1, in: queue).waitUntilFinished() }
        }
        queue.addOperation(operation)
        return operation
    }

    static func nestedGroups(
        _ depth: Int, _ innermost: @escaping @Sendable () -> Void
    ) -> Operation {
        var last: Operation = BlockOperation(block: innermost)
        for _ in 0..<depth {
            let inner = last
            last = GroupOperation { inner }
        }
        return last
    }
}
