#if Telemetry
import MetricsTestKit
import Operations
import OperationsTestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct MetricsPageTests {
    private static let page =
        "Sources/OperationsTelemetry/OperationsTelemetry.docc/MetricsOfOperationQueues.md"
    private static let pageOfJobs =
        "Sources/DurableJobsTelemetry/DurableJobsTelemetry.docc/DurableJobsTelemetry.md"

    @Test func pageListsTheMetricsThatAreMade() async throws {
        let observed = Observed(OperationQueue(width: 3))
        // It comes with the first sample.
        #expect(await comesTrue { !observed.metrics.meters(label: "operations.limit").isEmpty })
        let listed = try MetricsTable(of: Self.page).metrics
        #expect(listed.sorted() == observed.metrics.listed.sorted())
    }

    @Test func dashboardShowsMetricsThatExist() throws {
        let data = try Data(contentsOf: MetricsTable.url(of: "Examples/server/dashboard.json"))
        let panels = try JSONDecoder().decode(Dashboard.self, from: data).panels
        let metrics =
            try MetricsTable(of: Self.page).metrics + MetricsTable(of: Self.pageOfJobs).metrics
        var shown: Set<String> = []
        for expression in panels.flatMap({ $0.targets ?? [] }).map(\.expr) {
            let words = expression.split { !$0.isLetter && $0 != "_" && !$0.isNumber }
            let names = words.filter {
                $0.hasPrefix("operations_") || $0.hasPrefix("jobs_")
            }
            #expect(!names.isEmpty, "\(expression)")
            var labels: Set<String> = []
            for name in names {
                let metric = metrics.first { $0.prometheusNames.contains(String(name)) }
                guard let metric else {
                    Issue.record("no metric is called \(name): \(expression)")
                    continue
                }
                shown.insert(metric.name)
                labels.formUnion(metric.attributes.map(MetricsTable.prometheus))
            }
            for word in words
            where ["operation_", "job_", "worker_"].contains(where: { word.hasPrefix($0) }) {
                #expect(labels.contains(String(word)), "\(word): \(expression)")
            }
        }
        // What an operator has to see is there.
        for name in [
            "operations.oldest.age", "operations.limit", "operations.refused",
            "operations.dropped", "operations.permits.waiting.duration", "operations.workers",
            "operations.workers.limit", "operations.timers.late.duration", "jobs.oldest.age",
            "jobs.depth",
        ] {
            #expect(shown.contains(name), "\(name)")
        }
    }

    private struct Dashboard: Decodable {
        struct Panel: Decodable {
            var targets: [Target]?
        }
        struct Target: Decodable {
            var expr: String
        }
        var panels: [Panel]
    }
}

extension TestMetrics {
    /// The metrics that were made, each once.
    fileprivate var listed: Set<MetricsTable.Metric> {
        let counters = counters.map { ($0.label, "Counter", $0.dimensions) }
        let meters = meters.map { ($0.label, "Meter", $0.dimensions) }
        let timers = timers.map { ($0.label, "Timer", $0.dimensions) }
        return Set(
            (counters + meters + timers).map { label, type, dimensions in
                MetricsTable.Metric(name: label, type: type, attributes: dimensions.map(\.0))
            })
    }
}
#endif
