#if DurableJobs && Telemetry
import CoreMetrics
import DurableJobs
import DurableJobsTelemetry
import InMemoryLogging
import Logging
import MetricsTestKit
import Operations
import OperationsRuntime
import OperationsTestSupport
import Testing
import Tracing

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct JobMetricsTests {
    @Test func eachAttemptIsCounted() async throws {
        try await Observed.run { observed async throws in
            let seen = Tally()
            let queue = observed.queue
            let fine = try await queue.enqueue(Inspect())
            let flaky = try await queue.enqueue(
                Inspect(failures: 1), .retry(1, backoff: .none))
            let broken = try await queue.enqueue(Inspect(failures: 9))
            let observer: @Sendable (JobWorkerEvent) -> Void = { event in
                if case .ended = event { seen.increment() }
            }
            try await observed.withWorker(observer: observer) { () async throws in
                #expect(try await fine.value == 1)
                #expect(try await flaky.value == 2)
                await #expect(throws: JobFailure.self) { try await broken.value }
            }
            let name = ("job.name", "inspect")
            #expect(observed.count("jobs.claimed") == 4)
            #expect(observed.count("jobs.committed") == 4)
            #expect(observed.count("jobs.exchange.duration") >= 2)
            #expect(observed.count("jobs.started", name) == 4)
            #expect(observed.count("jobs.waiting.duration", name) == 3)
            let ends = ["completed": 2, "retryable": 1, "discarded": 1, "cancelled": 0]
            for (state, count) in ends {
                #expect(observed.count("jobs.ended", name, ("job.state", state)) == count)
                #expect(
                    observed.count("jobs.running.duration", name, ("job.state", state)) == count)
            }
            // The observer of the worker's options sees the same events.
            #expect(seen.value == 4)
        }
    }

    @Test func eventsThatNoHealthyWorkerHasAreCounted() async throws {
        try await Observed.run { observed async throws in
            for label in ["jobs.rescued", "jobs.leases.lost", "jobs.store.failures"] {
                _ = try observed.metrics.expectCounter(label, [("job.queue", "tests")])
            }
            observed.report(.fenced(job: JobID(1), name: "inspect", attempt: 1))
            observed.report(.rescued(count: 3))
            observed.report(.leaseLost)
            observed.report(.storeFailed("no connection"))
            observed.report(.heartbeatLate(by: .milliseconds(1500)))
            #expect(observed.count("jobs.fenced", ("job.name", "inspect")) == 1)
            #expect(observed.count("jobs.rescued") == 3)
            #expect(observed.count("jobs.leases.lost") == 1)
            #expect(observed.count("jobs.store.failures") == 1)
            let late = try observed.metrics.expectTimer(
                "jobs.heartbeats.late.duration", [("job.queue", "tests")])
            #expect(late.values == [1_500_000_000])
            #expect(late.displayUnit == .seconds)
        }
    }

    @Test func gaugesShowTheUnfinishedJobs() async throws {
        var options = JobTelemetryOptions()
        options.samplingInterval = .milliseconds(1)
        try await Observed.run(options) { observed async throws in
            let queue = observed.queue
            #expect(await comesTrue { observed.gauge("jobs.oldest.age") == 0 })
            let first = try await queue.enqueue(Inspect())
            try await queue.enqueue(Inspect())
            try await queue.enqueue(Inspect(), .delay(.seconds(3600)))
            try await queue.enqueue(Inspect(), after: first)
            let expected = [
                "available": 2.0, "scheduled": 1, "blocked": 1, "running": 0, "retryable": 0,
            ]
            for (state, count) in expected {
                #expect(
                    await comesTrue { observed.gauge("jobs.depth", ("job.state", state)) == count })
            }
            #expect(await comesTrue { observed.gauge("jobs.oldest.age") ?? 0 > 0 })
            #expect(observed.metrics.meters(label: "jobs.depth").count == expected.count)
        }
    }

    @Test func pageListsTheMetricsThatAreMade() async throws {
        try await Observed.run { observed async throws in
            observed.report(.started(job: JobID(1), name: "inspect", attempt: 1, wait: .zero))
            let metrics = observed.metrics
            let counters = metrics.counters.map { ($0.label, "Counter", $0.dimensions) }
            let meters = metrics.meters.map { ($0.label, "Meter", $0.dimensions) }
            let timers = metrics.timers.map { ($0.label, "Timer", $0.dimensions) }
            let made = Set(
                (counters + meters + timers).map { label, type, dimensions in
                    MetricsTable.Metric(name: label, type: type, attributes: dimensions.map(\.0))
                })
            let page = "DurableJobsTelemetry/DurableJobsTelemetry.docc/DurableJobsTelemetry.md"
            #expect(try MetricsTable(of: "Sources/\(page)").metrics.sorted() == made.sorted())
        }
    }

    @Test func namesBeyondTheLimitAreCountedTogether() async throws {
        var options = JobTelemetryOptions()
        options.jobNameLimit = 1
        try await Observed.run(options) { observed async throws in
            for name in ["a", "b", "a", "c"] {
                observed.report(.started(job: JobID(1), name: name, attempt: 1, wait: .zero))
            }
            #expect(observed.count("jobs.started", ("job.name", "a")) == 2)
            #expect(observed.count("jobs.started", ("job.name", "other")) == 2)
            #expect(observed.metrics.counters(label: "jobs.started").count == 2)
        }
    }

    @Test func reportsEndOrAreReplaced() async throws {
        try await Observed.run { observed async throws in
            let other = Observed(observed.queue, observed.path)
            observed.reports.end()
            other.report(.rescued(count: 1))
            #expect(observed.count("jobs.rescued") == 0)
            #expect(other.count("jobs.rescued") == 1)
            other.reports.end()
            #expect(other.queue.observer.withLock { $0 == nil })
        }
    }

    @Test func queueWithoutBackendsReportsNothing() async throws {
        try await Observed.run { observed async throws in
            observed.queue.reportTelemetry(logger: nil, metrics: nil, tracer: nil)
            let handle = try await observed.tracer.withSpan("request") { _ in
                try await observed.queue.enqueue(Inspect())
            }
            try await observed.withWorker { () async throws in
                #expect(try await handle.value == 1)
            }
            #expect(observed.spans("inspect").isEmpty)
            #expect(observed.count("jobs.claimed") == 0)
            #expect(observed.log.entries.isEmpty)
        }
    }

    @Test func messagesNameTheJobAndTheAttempt() async throws {
        try await Observed.run { observed async throws in
            let handle = try await observed.queue.enqueue(
                Inspect(failures: 9), .retry(1, backoff: .none))
            try await observed.withWorker { () async throws in
                await #expect(throws: JobFailure.self) { try await handle.value }
            }
            observed.report(.fenced(job: JobID(7), name: "inspect", attempt: 3))
            observed.report(.storeFailed("no connection"))
            let lines = observed.log.entries.map { entry in
                let keys = ["job.queue", "job.id", "job.name", "job.attempt", "error.message"]
                let values = keys.compactMap { entry.metadata[$0].map { "\($0)" } }
                return "\(entry.level) \(entry.message): \(values.joined(separator: " "))"
            }
            // One transaction may end an attempt and claim the job again; its events have no order.
            #expect(
                lines.sorted() == [
                    "debug Attempt has started: tests \(handle.id) inspect 1",
                    "debug Attempt has started: tests \(handle.id) inspect 2",
                    "debug Job will be retried: tests \(handle.id) inspect 1 no connection",
                    "error Job was discarded: tests \(handle.id) inspect 2 no connection",
                    "warning Result of an attempt was dropped: tests 7 inspect 3",
                    "warning Store has failed: tests no connection",
                ])
        }
    }
}
#endif
