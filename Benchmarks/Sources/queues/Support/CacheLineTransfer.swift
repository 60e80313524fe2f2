import Foundation
import Synchronization

/// What it takes to move a cache line from one processor to another.
///
/// Much of what queues do is such moves: a thread adds work, and another one takes it. On virtual
/// machines the time of a move changes from one hour to the next, and with it every figure for more
/// than one thread. So figures of two runs can be compared only if this time was the same.
enum CacheLineTransfer {
    private static let handovers = 20_000
    /// The number of looks after which a thread yields, in case both threads have one processor.
    private static let patience = 10_000

    private final class Line: Sendable {
        let turn = Atomic<Int>(0)
    }

    /// Measures the nanoseconds that one move takes: the median of nine measurements, in each of
    /// which two threads write one word in turns.
    static func nanoseconds() -> Double {
        let figures = (0..<9).map { _ in
            let line = Line()
            let start = Threads.race(2) { thread in
                for handover in stride(from: thread, to: handovers, by: 2) {
                    var looks = 0
                    while line.turn.load(ordering: .acquiring) != handover {
                        looks += 1
                        if looks % patience == 0 { sched_yield() }
                    }
                    line.turn.store(handover + 1, ordering: .releasing)
                }
            }
            return (ContinuousClock.now - start).nanoseconds / Double(handovers)
        }
        return Spread(figures).median
    }
}
