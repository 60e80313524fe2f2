#if Telemetry
import CoreMetrics
import Synchronization

/// The share of one queue in a meter that other queues may use as well, subtracted at the end.
///
/// Each change is decided in one atomic and then forwarded to the meter. Changes may reach the
/// meter in any order, since a sum does not depend on the order. Changes after the end are dropped,
/// so the queue's share is zero in the end.
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
            if exchanged { return forward(change) }
            now = original
        }
    }

    func close() {
        let rest = share.exchange(Self.closed, ordering: .relaxed)
        if rest != Self.closed { forward(-rest) }
    }

    private func forward(_ change: Int) {
        if change > 0 { meter.increment(by: Double(change)) }
        if change < 0 { meter.decrement(by: Double(-change)) }
    }
}
#endif
