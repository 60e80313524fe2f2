package import Operations
package import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// Measures how the processor time of this process grows with the size of its work.
package enum Growth {
    /// Ten times the work takes about 10 times as long if its cost is linear, and 100 times if it
    /// is quadratic. The limit is the cube root of 10⁵, which stands for an exponent of 5/3: other
    /// programs that evict the caches do not move a linear cost that far.
    private static let greatestRatio = 46.0

    /// Expects that the cost of `work`, a function of its size, is closer to linear than to
    /// quadratic. Compares the size `count` with ten times that, up to five times.
    package static func expectNearLinear(
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
    package static func nested(_ depth: Int, in queue: OperationQueue) -> Operation {
        let operation = BlockOperation {
            if depth > 1 { nested(depth - 1, in: queue).waitUntilFinished() }
        }
        queue.addOperation(operation)
        return operation
    }

    /// Adds a block to the first queue that does the same with the rest of the queues, and waits
    /// for the first queue.
    package static func wait(for queues: ArraySlice<OperationQueue>) {
        guard let first = queues.first else { return }
        first.addOperation { wait(for: queues.dropFirst()) }
        first.waitUntilAllOperationsAreFinished()
    }

    package static func nestedGroups(
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
