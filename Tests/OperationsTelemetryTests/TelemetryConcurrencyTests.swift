#if Telemetry
import CoreMetrics
import InMemoryTracing
import MetricsTestKit
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing
import Tracing

@testable import Operations
@testable import OperationsTelemetry

/// The guarantees of telemetry under concurrency.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct TelemetryConcurrencyTests {
    @Test func operationsOfManyThreadsAreCountedExactlyOnce() async {
        let observed = Observed()
        let queue = observed.queue
        let (threads, each) = (8, 200)
        let failing = TestRecorder<Operation>()
        await withTaskGroup { group in
            for thread in 0..<threads {
                group.addTask {
                    for number in 0..<each {
                        switch (thread + number) % 5 {
                        case 0: queue.addOperation {}
                        case 1: failing.record(queue.add("broken") { throw Broken() })
                        case 2: queue.add { await Task.yield() }
                        case 3: queue.add("gone") {}.cancel()
                        default:
                            let first = queue.add { number }
                            queue.add(after: first) { _ in }
                        }
                    }
                }
            }
        }
        await observed.drain()
        failing.readErrors()
        let total = Int64(threads * each * 6 / 5)
        #expect(observed.count("operations.added") == total)
        #expect(observed.count("operations.ended") == total)
        #expect(observed.ended("failed") == Int64(threads * each / 5))
        #expect(observed.gauge("operations.pending") == 0)
        #expect(observed.gauge("operations.executing") == 0)
        #expect(observed.tracer.activeSpans.isEmpty)
        let begun = observed.times("operations.waiting.duration").count
        #expect(observed.tracer.finishedSpans.count == begun)
        let failures = observed.lines.filter { $0.contains("Operation failed") }
        #expect(failures.count == threads * each / 5)
        #expect(failures.allSatisfy { $0.hasPrefix("debug") })
    }

    @Test func reportsMayEndWhileOperationsRun() async {
        let observed = Observed()
        let queue = observed.queue
        let (began, mayEnd) = (Signal(), Signal())
        let blocking = queue.add("blocking") {
            began.send()
            mayEnd.wait()
        }
        #expect(await began.arrives())
        queue.maxConcurrentOperationCount = 1
        queue.add("waiting") {}
        observed.reports.end()
        // The span of the running operation has ended and says why. The waiting operation will have
        // no span.
        #expect(observed.tracer.activeSpans.isEmpty)
        #expect(observed.spans("blocking").first?.events.map(\.name) == ["telemetry ended"])
        #expect(observed.gauge("operations.executing") == 0)
        #expect(observed.gauge("operations.pending") == 0)
        mayEnd.send()
        await blocking.finished()
        queue.add("later") {}
        await observed.drain()
        observed.reports.end()
        #expect(observed.count("operations.added") == 2)
        #expect(observed.count("operations.ended") == 0)
        #expect(observed.tracer.finishedSpans.count == 1)
    }

    @Test func reportsMayBeginAndEndRepeatedly() async {
        let queue = OperationQueue()
        let (metrics, tracer) = (TestMetrics(), InMemoryTracer())
        let (ends, failing) = (Tally(), TestRecorder<Operation>())
        await withTaskGroup { group in
            for _ in 0..<3 {
                group.addTask {
                    for number in 0..<1_000 {
                        if number % 3 == 0 { queue.add { await Task.yield() } }
                        failing.record(queue.add { try queue.fail(number) })
                    }
                }
            }
            group.addTask {
                while ends.value == 0 {
                    let reports = queue.reportTelemetry(
                        logger: nil, metrics: metrics, tracer: tracer)
                    await Task.yield()
                    reports.end()
                }
            }
            for _ in 0..<3 { await group.next() }
            await queue.finished()
            ends.increment()
        }
        failing.readErrors()
        #expect(tracer.activeSpans.isEmpty)
        for label in ["operations.pending", "operations.executing"] {
            #expect(metrics.meters(label: label).allSatisfy { ($0.lastValue ?? 0) == 0 })
        }
        #expect(
            metrics.counterTotal(label: "operations.ended")
                <= metrics.counterTotal(label: "operations.added"))
    }

    /// A key whose next comparison, once it is armed, signals and waits.
    private struct PausingKey: Hashable {
        final class Pause: Sendable {
            let isArmed = Atomic<Bool>(false)
            let (begins, mayEnd) = (Signal(), Signal())
        }

        let pause = Pause()

        static func == (a: PausingKey, b: PausingKey) -> Bool {
            if a.pause.isArmed.exchange(false, ordering: .acquiringAndReleasing) {
                a.pause.begins.send()
                a.pause.mayEnd.wait()
            }
            return true
        }

        func hash(into hasher: inout Hasher) {}
    }

    @Test func spanEndsIfReportsEndBetweenTheEndOfTheOperationAndItsRecord() async {
        let observed = Observed()
        let key = PausingKey()
        let (began, mayReturn) = (Signal(), Signal())
        let operation = observed.queue.add(.deduplicated(by: key)) {
            began.send()
            mayReturn.wait()
        }
        #expect(await began.arrives())
        #expect(observed.tracer.activeSpans.count == 1)
        // The operation gives up its key when it has finished, before its end is recorded.
        key.pause.isArmed.store(true, ordering: .releasing)
        mayReturn.send()
        #expect(await key.pause.begins.arrives())
        #expect(operation.isFinished)
        observed.reports.end()
        #expect(observed.tracer.activeSpans.isEmpty)
        key.pause.mayEnd.send()
        await observed.drain()
        // The telemetry of an operation that is released would end the span.
        withExtendedLifetime(operation) {}
        #expect(observed.tracer.finishedSpans.count == 1)
        #expect(observed.gauge("operations.executing") == 0)
        #expect(observed.gauge("operations.pending") == 0)
    }

    @Test func spanEndsIfTheOperationEndsWhileReportsLookForIt() async {
        let observed = Observed()
        let queue = observed.queue
        let (began, mayReturn, isLocked) = (Signal(), Signal(), Signal())
        let operation = queue.add {
            began.send()
            mayReturn.wait()
        }
        #expect(await began.arrives())
        // The thread that ends the reports needs the queue's lock to find their operations. The
        // worker needs no lock to end the operation. So the operation ends just before the search.
        async let holding: Void = onThread {
            queue.snapshot { _ in
                isLocked.send()
                Self.wait { !queue.isObserved || operation.telemetry?.telemetry.hasEnded == true }
                mayReturn.send()
                Self.wait { operation.isFinished }
            }
        }
        #expect(await isLocked.arrives())
        await onThread { observed.reports.end() }
        await holding
        #expect(observed.tracer.activeSpans.isEmpty)
        await observed.drain()
        withExtendedLifetime(operation) {}
        #expect(observed.tracer.finishedSpans.count == 1)
        #expect(observed.gauge("operations.executing") == 0)
    }

    /// Waits for a condition without a notification. The caller holds a lock, so it cannot suspend.
    private static func wait(until condition: () -> Bool) {
        let end = TestEnd()
        var backoff = Backoff()
        while !condition(), !end.hasCome { backoff.pause() }
    }

    @Test func newReportsReplacePreviousOnes() async {
        let first = Observed()
        first.queue.isSuspended = true
        first.queue.add("early") {}
        #expect(first.gauge("operations.pending") == 1)
        let second = Observed(first.queue)
        #expect(first.gauge("operations.pending") == 0)
        first.reports.end()
        first.queue.add("late") {}
        first.queue.isSuspended = false
        await first.drain()
        #expect(first.tracer.finishedSpans.isEmpty)
        #expect(second.tracer.finishedSpans.map(\.operationName) == ["late"])
        #expect(second.ended("finished") == 1)
    }

    @Test func neitherQueueNorOperationIsRetained() async {
        weak var queue: OperationQueue?
        weak var operation: Operation?
        let reports: TelemetryReports
        do {
            let observed = Observed()
            let added = observed.queue.add { try observed.queue.fail(1) }
            (reports, queue, operation) = (observed.reports, observed.queue, added)
            _ = try? await added.value
            await observed.drain()
        }
        #expect(await comesTrue { queue == nil && operation == nil })
        reports.end()
    }

    @Test func queueMayBeReleasedWhileItsOperationsRun() async {
        let (metrics, tracer) = (TestMetrics(), InMemoryTracer())
        let mayEnd = Signal()
        do {
            let queue = OperationQueue()
            queue.reportTelemetry(logger: nil, metrics: metrics, tracer: tracer)
            queue.add("last") { _ = mayEnd.wait() }
        }
        mayEnd.send()
        #expect(await comesTrue { metrics.counterTotal(label: "operations.ended") == 1 })
        #expect(await comesTrue { tracer.finishedSpans.map(\.operationName) == ["last"] })
    }

    /// Backends may use the queue themselves, because they are called without a lock.
    @Test func backendsMayUseQueue() async {
        final class Factory: MetricsFactory, CounterHandler, MeterHandler, RecorderHandler,
            TimerHandler
        {
            let queue: OperationQueue
            let calls = Tally()
            init(_ queue: OperationQueue) { self.queue = queue }
            private func useQueue() {
                calls.increment()
                _ = (queue.operationCount, queue.operations.count, queue.explain(), queue.name)
                Operation.current?.name = "seen"
                _ = Operation.current?.error
            }
            func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
                self
            }
            func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
                self
            }
            func makeRecorder(
                label: String, dimensions: [(String, String)], aggregate: Bool
            ) -> any RecorderHandler { self }
            func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
                self
            }
            func destroyCounter(_ handler: any CounterHandler) {}
            func destroyMeter(_ handler: any MeterHandler) {}
            func destroyRecorder(_ handler: any RecorderHandler) {}
            func destroyTimer(_ handler: any TimerHandler) {}
            func increment(by amount: Int64) { useQueue() }
            func reset() {}
            func set(_ value: Int64) {}
            func set(_ value: Double) {}
            func increment(by amount: Double) { useQueue() }
            func decrement(by amount: Double) { useQueue() }
            func record(_ value: Int64) {}
            func record(_ value: Double) {}
            func recordNanoseconds(_ duration: Int64) { useQueue() }
        }
        let queue = OperationQueue()
        let factory = Factory(queue)
        let reports = queue.reportTelemetry(logger: nil, metrics: factory, tracer: nil)
        let failing = TestRecorder<Operation>()
        for number in 0..<100 { failing.record(queue.add { try queue.fail(number) }) }
        failing.record(queue.add(.retry(1)) { throw Broken() })
        await queue.finished()
        failing.readErrors()
        reports.end()
        #expect(factory.calls.value >= 101 * 7)
    }
}

extension OperationsTestKit.TestRecorder<Operation> {
    /// Reads all errors, so that they are not reported as unobserved.
    fileprivate func readErrors() {
        for operation in events { _ = operation.error }
    }
}

extension OperationQueue {
    fileprivate func fail(_ number: Int) throws {
        if number % 2 == 1 { throw Broken() }
    }
}
#endif
