import CoreMetrics
import Synchronization

/// A backend of swift-metrics that keeps the values in memory, and writes them as a text that
/// Prometheus reads.
///
/// Names become valid ones: `operations.added` is `operations_added_total`, because it is a
/// counter, and `operations.running.duration` is `operations_running_duration_seconds`, a histogram
/// of seconds. In a program of your own, take swift-prometheus or swift-otel.
final class PrometheusMetrics: MetricsFactory {
    private struct Family {
        let label: String
        let type: String
        /// The series, by their labels as they are written.
        var series: [String: any Series] = [:]
    }

    private let families = Mutex<[String: Family]>([:])

    // MARK: Making metrics

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series("\(PrometheusText.name(label))_total", "counter", label, dimensions) { Count() }
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(PrometheusText.name(label), "gauge", label, dimensions) { Level() }
    }

    func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        let name = PrometheusText.name(label)
        guard aggregate else { return series(name, "gauge", label, dimensions) { Level() } }
        return series("\(name)_distribution", "histogram", label, dimensions) {
            Distribution(bounds: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000])
        }
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series("\(PrometheusText.name(label))_seconds", "histogram", label, dimensions) {
            Distribution(bounds: [
                0.000_1, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
                300,
            ])
        }
    }

    /// Returns the series with these labels: there is one, however often it is asked for.
    private func series<New: Series>(
        _ name: String, _ type: String, _ label: String, _ dimensions: [(String, String)],
        _ make: () -> New
    ) -> New {
        let labels = PrometheusText.labels(dimensions)
        return families.withLock { families in
            if let known = families[name]?.series[labels] as? New { return known }
            let new = make()
            families[name, default: Family(label: label, type: type)].series[labels] = new
            return new
        }
    }

    func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    func destroyTimer(_ handler: any TimerHandler) { remove(handler) }

    private func remove(_ handler: AnyObject) {
        families.withLock { families in
            families = families.mapValues { family in
                var family = family
                family.series = family.series.filter { $0.value !== handler }
                return family
            }
        }
    }

    // MARK: Writing

    /// All values, in the text format 0.0.4.
    var text: String {
        let families = families.withLock { $0 }
        var lines: [String] = []
        for (name, family) in families.sorted(by: { $0.key < $1.key }) where !family.series.isEmpty
        {
            lines.append("# HELP \(name) \(PrometheusText.help(family.label))")
            lines.append("# TYPE \(name) \(family.type)")
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                lines += series.lines(name, labels)
            }
        }
        return lines.map { $0 + "\n" }.joined()
    }
}

/// The rules of the text format.
enum PrometheusText {
    /// A name of letters, digits and `_`, which does not begin with a digit.
    static func name(_ text: String) -> String {
        let valid = text.map { character in
            character.isASCII && (character.isLetter || character.isNumber) ? character : "_"
        }
        return valid.first?.isNumber ?? true ? "_" + String(valid) : String(valid)
    }

    /// The labels without braces: `queue="a",state="b"`.
    static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.map { "\(name($0))=\"\(escaped($1, quotes: true))\"" }.joined(separator: ",")
    }

    static func help(_ text: String) -> String { escaped(text, quotes: false) }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return Int64(exactly: value).map { "\($0)" } ?? "\(value)"
    }

    static func line(_ name: String, _ labels: String, _ value: Double) -> String {
        labels.isEmpty ? "\(name) \(number(value))" : "\(name){\(labels)} \(number(value))"
    }
}

/// The values of a metric with certain labels.
private protocol Series: AnyObject, Sendable {
    func lines(_ name: String, _ labels: String) -> [String]
}

private final class Count: Series, CounterHandler {
    private let value = Mutex<Int64>(0)

    func increment(by amount: Int64) {
        value.withLock { $0 = $0.addingReportingOverflow(max(0, amount)).partialValue }
    }
    func reset() { value.withLock { $0 = 0 } }

    func lines(_ name: String, _ labels: String) -> [String] {
        [PrometheusText.line(name, labels, Double(value.withLock { $0 }))]
    }
}

private final class Level: Series, MeterHandler, RecorderHandler {
    private let value = Mutex<Double>(0)

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { self.value.withLock { $0 = value } }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { value.withLock { $0 -= amount } }
    func record(_ value: Int64) { set(Double(value)) }
    func record(_ value: Double) { set(value) }

    func lines(_ name: String, _ labels: String) -> [String] {
        [PrometheusText.line(name, labels, value.withLock { $0 })]
    }
}

private final class Distribution: Series, TimerHandler, RecorderHandler {
    private let bounds: [Double]
    /// How many values were in each bucket, the last one without a bound, and their sum.
    private let state: Mutex<(counts: [Int], sum: Double)>

    init(bounds: [Double]) {
        self.bounds = bounds
        state = Mutex((Array(repeating: 0, count: bounds.count + 1), 0))
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Int64) { record(Double(value)) }
    func record(_ value: Double) {
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    func lines(_ name: String, _ labels: String) -> [String] {
        let (counts, sum) = state.withLock { $0 }
        let separator = labels.isEmpty ? "" : ","
        var total = 0
        var lines = zip(bounds + [.infinity], counts).map { bound, count in
            // A bucket has the values of all before it, too.
            total += count
            let bucket = "\(labels)\(separator)le=\"\(PrometheusText.number(bound))\""
            return PrometheusText.line("\(name)_bucket", bucket, Double(total))
        }
        lines.append(PrometheusText.line("\(name)_sum", labels, sum))
        lines.append(PrometheusText.line("\(name)_count", labels, Double(total)))
        return lines
    }
}
