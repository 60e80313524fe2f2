import CoreMetrics
import Synchronization

/// Metrics as a backend keeps them: a sum, a last value, and a histogram of ten buckets, in memory.
struct MetricsInMemory: MetricsFactory {
    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        Series()
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { Series() }

    func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler { Series() }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { Series() }

    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}

private final class Series: CounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    private struct Values {
        var sum = 0.0
        var last = 0.0
        var buckets = [Int](repeating: 0, count: 10)
    }

    private let values = Mutex(Values())

    private func add(_ value: Double) {
        values.withLock { values in
            values.sum += value
            values.last = value
            let decade = min(max(value, 1).exponent / 3, 9)
            values.buckets[Int(decade)] += 1
        }
    }

    func increment(by amount: Int64) { values.withLock { $0.sum += Double(amount) } }
    func reset() { values.withLock { $0.sum = 0 } }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { values.withLock { $0.last = value } }
    func increment(by amount: Double) { values.withLock { $0.last += amount } }
    func decrement(by amount: Double) { values.withLock { $0.last -= amount } }
    func record(_ value: Int64) { add(Double(value)) }
    func record(_ value: Double) { add(value) }
    func recordNanoseconds(_ duration: Int64) { add(Double(duration)) }
}
