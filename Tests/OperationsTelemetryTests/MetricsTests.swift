#if Telemetry
import CoreMetrics
import MetricsTestKit
import Operations
import OperationsTelemetry
import OperationsTestSupport
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct MetricsTests {
    @Test func eachEndIsCountedOnce() async {
        let observed = Observed()
        let queue = observed.queue
        queue.addOperation {}
        await queue.add { await Task.yield() }.finished()
        await queue.add("broken") { throw Broken() }.fails()
        await queue.add("late", .timeout(.milliseconds(5))) { try await untilCancelled() }.fails()
        await observed.drain()
        queue.isSuspended = true
        queue.add {}.cancel()
        await queue.add(.deadline(in: .milliseconds(5))) {}.fails()
        await observed.drain()
        #expect(observed.count("operations.added") == 6)
        #expect(observed.ended("finished") == 2)
        #expect(observed.ended("failed") == 1)
        #expect(observed.ended("expired") == 2)
        #expect(observed.ended("cancelled") == 1)
        #expect(observed.count("operations.ended") == 6)
        #expect(observed.count("operations.retried") == 0)
        #expect(observed.gauge("operations.pending") == 0)
        #expect(observed.gauge("operations.executing") == 0)
    }

    @Test func everyMetricExistsBeforeAnythingHappens() throws {
        let observed = Observed()
        let queue = [("operation.queue", "tests")]
        for label in [
            "operations.added", "operations.retried", "operations.stalls", "operations.refused",
            "operations.dropped",
        ] {
            _ = try observed.metrics.expectCounter(label, queue)
        }
        for outcome in ["finished", "failed", "expired", "cancelled"] {
            let dimensions = queue + [("operation.outcome", outcome)]
            _ = try observed.metrics.expectCounter("operations.ended", dimensions)
            _ = try observed.metrics.expectTimer("operations.running.duration", dimensions)
        }
        for label in ["operations.pending", "operations.executing", "operations.oldest.age"] {
            _ = try observed.metrics.expectMeter(label, queue)
        }
        let waiting = try observed.metrics.expectTimer("operations.waiting.duration", queue)
        #expect(waiting.displayUnit == .seconds)
        for kind in ["budget", "rate"] {
            _ = try observed.metrics.expectTimer(
                "operations.permits.waiting.duration", queue + [("operation.permits", kind)])
        }
        for state in ["active", "blocked", "idle"] {
            _ = try observed.metrics.expectMeter("operations.workers", [("worker.state", state)])
        }
        _ = try observed.metrics.expectMeter("operations.workers.limit")
        _ = try observed.metrics.expectTimer("operations.timers.late.duration")
        #expect(observed.metrics.counters.count == 9)
        #expect(observed.metrics.timers.count == 9)
        #expect(observed.metrics.meters.count == 7)
    }

    @Test func gaugesFollowPendingAndExecutingOperations() async {
        let observed = Observed()
        let queue = observed.queue
        queue.maxConcurrentOperationCount = 1
        let (began, mayEnd) = (Signal(), Signal())
        queue.addOperation {
            began.send()
            mayEnd.wait()
        }
        let rest = (1...3).map { _ in BlockOperation {} }
        await queue.addOperations(rest, waitUntilFinished: false)
        #expect(await began.arrives())
        #expect(observed.gauge("operations.executing") == 1)
        #expect(observed.gauge("operations.pending") == 3)
        rest[1].cancel()
        #expect(await comesTrue { observed.gauge("operations.pending") == 2 })
        mayEnd.send()
        await observed.drain()
        #expect(observed.gauge("operations.executing") == 0)
        #expect(observed.gauge("operations.pending") == 0)
    }

    @Test func timersRecordPlausibleDurations() async {
        let beginning = ContinuousClock.now
        let observed = Observed()
        observed.queue.isSuspended = true
        let operation = observed.queue.add { await Task.yield() }
        let start = ContinuousClock.now
        while start.duration(to: .now) < .milliseconds(3) {}
        observed.queue.isSuspended = false
        await operation.finished()
        let waiting = observed.times("operations.waiting.duration")
        let running = observed.times(
            "operations.running.duration", [("operation.outcome", "finished")])
        #expect(waiting.count == 1 && running.count == 1)
        let test = Int64(beginning.duration(to: .now) / .nanoseconds(1))
        #expect(waiting.allSatisfy { (3_000_000...test).contains($0) })
        #expect(running.allSatisfy { (0...test).contains($0) })
    }

    @Test func attemptsAreTimedSeparately() async {
        let observed = Observed()
        let attempts = Tally()
        let flaky = observed.queue.add(
            "flaky", .retry(5, backoff: .constant(.milliseconds(1)))
        ) {
            if attempts.increment() < 3 { throw Broken() }
        }
        await flaky.finished()
        #expect(observed.count("operations.added") == 1)
        #expect(observed.count("operations.retried") == 2)
        #expect(observed.ended("finished") == 1)
        #expect(observed.count("operations.ended") == 1)
        #expect(observed.times("operations.waiting.duration").count == 3)
        let outcome = {
            observed.times("operations.running.duration", [("operation.outcome", $0)]).count
        }
        #expect(outcome("retried") == 2)
        #expect(outcome("finished") == 1)
        #expect(observed.gauge("operations.pending") == 0)
        #expect(observed.gauge("operations.executing") == 0)
    }

    @Test func operationBetweenAttemptsIsPending() async {
        let observed = Observed()
        let flaky = observed.queue.add(
            "flaky", .retry(5, backoff: .constant(.seconds(3600)))
        ) { throw Broken() }
        #expect(await comesTrue { observed.count("operations.retried") == 1 })
        #expect(observed.gauge("operations.pending") == 1)
        #expect(observed.gauge("operations.executing") == 0)
        flaky.cancel()
        await observed.drain()
        #expect(observed.ended("cancelled") == 1)
        #expect(observed.gauge("operations.pending") == 0)
        #expect(observed.gauge("operations.executing") == 0)
        // The operation ran once, and not until it was cancelled.
        #expect(observed.times("operations.running.duration").count == 1)
    }

    @Test func periodicOperationEndsOnlyOnce() async {
        let observed = Observed()
        let tick = observed.queue.add("tick", .every(.milliseconds(1))) {}
        #expect(await comesTrue { observed.spans("tick").count >= 3 })
        tick.cancel()
        await observed.drain()
        #expect(observed.count("operations.ended") == 1)
        #expect(observed.ended("cancelled") == 1)
        #expect(observed.times("operations.running.duration").count >= 3)
        #expect(observed.gauge("operations.pending") == 0)
    }

    @Test func unnamedQueuesShareOneName() async {
        let observed = Observed(name: nil)
        await observed.queue.add {}.finished()
        #expect(observed.count("operations.added", [("operation.queue", "unnamed")]) == 1)
    }

    @Test func operationNamesAreDimensionOnlyIfRequested() async {
        var options = TelemetryOptions()
        options.includesOperationNames = true
        options.operationNameLimit = 2
        let observed = Observed(options: options)
        for name in ["resize", "crop", "resize", "sharpen"] {
            await observed.queue.add(.name(name)) {}.finished()
        }
        let added = { observed.count("operations.added", [("operation.name", $0)]) }
        #expect(added("resize") == 2)
        #expect(added("crop") == 1)
        #expect(added("sharpen") == 0)
        #expect(added("other") == 1)
        observed.reports.end()
        #expect(observed.gauge("operations.pending") == 0)

        let plain = Observed()
        await plain.queue.add("resize") {}.finished()
        #expect(
            plain.metrics.counters.allSatisfy {
                !$0.dimensions.contains { $0.0 == "operation.name" }
            })
    }

    @Test func barriersAreNotCounted() async {
        let observed = Observed()
        observed.queue.addOperation {}
        observed.queue.addBarrierBlock {}
        await observed.drain()
        #expect(observed.count("operations.added") == 1)
        #expect(observed.count("operations.ended") == 1)
    }

    @Test func noMetricIsCreatedWithoutBackend() async {
        let metrics = TestMetrics()
        await withMetricsFactory(metrics) {
            let queue = OperationQueue()
            queue.reportTelemetry(logger: nil, metrics: nil, tracer: nil)
            await queue.add {}.finished()
        }
        #expect(metrics.counters.isEmpty)
    }

    @Test func currentFactoryIsDefault() async {
        let metrics = TestMetrics()
        await withMetricsFactory(metrics) {
            let queue = OperationQueue()
            queue.name = "current"
            queue.reportTelemetry(logger: nil)
            await queue.add {}.finished()
        }
        #expect(metrics.counterTotal(label: "operations.added") == 1)
    }

    @Test func everyKindOfSubclassIsCounted() async {
        final class Classic: Operation, @unchecked Sendable {
            override func main() {}
        }
        final class Typed: TypedOperation<Int>, @unchecked Sendable {
            override func main() async throws -> Int { 1 }
        }
        let observed = Observed()
        let classic = Classic()
        classic.addFinishedDependency()
        await observed.queue.addOperations(
            [classic, Typed(), Operation(), BlockOperation()], waitUntilFinished: true)
        await observed.drain()
        #expect(observed.ended("finished") == 4)
        #expect(observed.gauge("operations.executing") == 0)
    }
}

extension Operation {
    /// Adds a dependency that has finished, and so holds back nothing.
    fileprivate func addFinishedDependency() {
        let first = Operation()
        first.start()
        addDependency(first)
    }
}
#endif
