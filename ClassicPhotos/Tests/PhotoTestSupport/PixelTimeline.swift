import Foundation
import Operations
public import OperationsInsight

/// The pixel stages in a timeline.
public struct PixelTimeline {
    private struct Trace: Decodable {
        struct Event: Decodable {
            let name: String?
            let ph: String
            let ts: Double?
            let dur: Double?
        }
        let traceEvents: [Event]
    }

    /// The time at which each stage ran, in microseconds.
    private let spans: [(name: String, time: Range<Double>)]

    /// Reads a timeline.
    public init(_ timeline: OperationTimeline) throws {
        let trace = try JSONDecoder().decode(
            Trace.self, from: Data(timeline.chromeTrace().utf8))
        spans = trace.traceEvents.compactMap { event in
            guard event.ph == "X", let name = event.name, let start = event.ts,
                let duration = event.dur
            else { return nil }
            return (name, start..<start + duration)
        }
    }

    /// The number of stages.
    public var count: Int { spans.count }

    /// The number of stages with the given names.
    public func count(of names: Set<String>) -> Int { spans.count { names.contains($0.name) } }

    /// The maximum number of the given stages that ran at the same time.
    public func maximumConcurrency(of names: Set<String>) -> Int {
        let changes = spans.filter { names.contains($0.name) }.flatMap { span in
            [(time: span.time.lowerBound, change: 1), (time: span.time.upperBound, change: -1)]
        }
        var (now, most) = (0, 0)
        for change in changes.sorted(by: { ($0.time, $0.change) < ($1.time, $1.change) }) {
            now += change.change
            most = max(most, now)
        }
        return most
    }
}
