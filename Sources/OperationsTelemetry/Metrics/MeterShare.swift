import CoreMetrics
import Synchronization

/// What one queue adds to a meter that others may add to as well, and takes back at the end.
///
/// Each change is decided in one word and then told to the meter; additions may reach it in any order, as sums
/// do not mind. What is decided after the end is not told, so in the end the queue's share is nothing.
final class MeterShare: Sendable {
    private static let closed = Int.min

    private let meter: Meter
    private let share = Atomic<Int>(0)

    init(_ meter: Meter) { self.meter = meter }

    func add(_ change: Int) {
        var now = share.load(ordering: .relaxed)
        while now != Self.closed {
            let (exchanged, original) = share.weakCompareExchange(
                expected: now, desired: now + change, ordering: .relaxed)
            if exchanged { return tell(change) }
            now = original
        }
    }

    func close() {
        let rest = share.exchange(Self.closed, ordering: .relaxed)
        if rest != Self.closed { tell(-rest) }
    }

    private func tell(_ change: Int) {
        if change > 0 { meter.increment(by: Double(change)) }
        if change < 0 { meter.decrement(by: Double(-change)) }
    }
}
