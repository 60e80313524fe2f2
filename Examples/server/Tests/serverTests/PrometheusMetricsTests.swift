import CoreMetrics
import Testing

@testable import server

struct PrometheusMetricsTests {
    private let metrics = PrometheusMetrics()

    @Test func countersGaugesAndHistogramsAreWritten() {
        Counter(label: "jobs.done", dimensions: [("job.queue", "a")], factory: metrics)
            .increment(by: 3)
        Counter(label: "jobs.done", dimensions: [("job.queue", "b")], factory: metrics)
            .increment()
        let depth = Meter(label: "depth", factory: metrics)
        depth.set(2.5)
        depth.decrement(by: 1)
        let timer = Timer(label: "wait.duration", dimensions: [("q", "x")], factory: metrics)
        timer.recordMilliseconds(2)
        timer.recordMilliseconds(7)
        timer.recordSeconds(400)
        let lines = metrics.text.split(separator: "\n").map(String.init)
        #expect(
            lines.prefix(9) == [
                "# HELP depth depth", "# TYPE depth gauge", "depth 1.5",
                "# HELP jobs_done_total jobs.done", "# TYPE jobs_done_total counter",
                #"jobs_done_total{job_queue="a"} 3"#, #"jobs_done_total{job_queue="b"} 1"#,
                "# HELP wait_duration_seconds wait.duration",
                "# TYPE wait_duration_seconds histogram",
            ])
        let buckets = [
            #"wait_duration_seconds_bucket{q="x",le="0.001"} 0"#,
            #"wait_duration_seconds_bucket{q="x",le="0.005"} 1"#,
            #"wait_duration_seconds_bucket{q="x",le="0.01"} 2"#,
            #"wait_duration_seconds_bucket{q="x",le="300"} 2"#,
            #"wait_duration_seconds_bucket{q="x",le="+Inf"} 3"#,
            #"wait_duration_seconds_sum{q="x"} 400.009"#,
            #"wait_duration_seconds_count{q="x"} 3"#,
        ]
        for line in buckets { #expect(lines.contains(line)) }
        #expect(metrics.text.hasSuffix("\n"))
    }

    @Test func namesBecomeValidAndValuesAreEscaped() {
        let value = "a \"quoted\" C:\\ and\na line"
        Meter(label: "1st größe-of/x", dimensions: [("http.code", value)], factory: metrics).set(1)
        #expect(
            metrics.text == #"""
                # HELP _1st_gr__e_of_x 1st größe-of/x
                # TYPE _1st_gr__e_of_x gauge
                _1st_gr__e_of_x{http_code="a \"quoted\" C:\\ and\na line"} 1

                """#)
    }

    @Test func sameMetricIsMadeOnceUntilItIsDestroyed() {
        let (first, second) = (
            Counter(label: "n", factory: metrics), Counter(label: "n", factory: metrics)
        )
        first.increment()
        second.increment()
        #expect(metrics.text.contains("n_total 2\n"))
        first.destroy()
        #expect(metrics.text.isEmpty)
    }
}
