#if Telemetry
import CoreMetrics
import MetricsTestKit
import Operations
import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import OperationsTelemetry

/// What tells how full a queue is, and how full the pool of threads.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct SaturationTests {
    // MARK: Gauges of queues

    @Test func limitFollowsTheWidth() async {
        let observed = Observed(OperationQueue(width: 3), options: .sampledOften)
        #expect(await comesTrue { observed.gauge("operations.limit") == 3 })
        observed.queue.maxConcurrentOperationCount = 5
        #expect(await comesTrue { observed.gauge("operations.limit") == 5 })
        // No number says that there is no limit.
        observed.queue.maxConcurrentOperationCount = -1
        #expect(await comesTrue { observed.metrics.meters(label: "operations.limit").isEmpty })
        observed.queue.maxConcurrentOperationCount = 2
        #expect(await comesTrue { observed.gauge("operations.limit") == 2 })
        observed.reports.end()
        #expect(await comesTrue { observed.metrics.meters(label: "operations.limit").isEmpty })
    }

    @Test func limitsOfQueuesWithOneNameAddUp() async {
        let first = Observed(OperationQueue(width: 3), options: .sampledOften)
        do {
            let second = OperationQueue(name: "tests", width: 4)
            second.reportTelemetry(
                logger: nil, metrics: first.metrics, tracer: nil, options: .sampledOften)
            #expect(await comesTrue { first.gauge("operations.limit") == 7 })
        }
        #expect(await comesTrue { first.gauge("operations.limit") == 3 })
    }

    @Test func ageIsThatOfTheOldestReadyOperation() async {
        let observed = Observed(OperationQueue(width: 1), options: .sampledOften)
        let queue = observed.queue
        let (began, mayEnd) = (Signal(), Signal())
        queue.addOperation {
            began.send()
            mayEnd.wait()
        }
        #expect(await began.arrives())
        #expect(await comesTrue { observed.gauge("operations.oldest.age") == 0 })
        let start = ContinuousClock.now
        queue.addOperation {}
        #expect(await comesTrue { observed.gauge("operations.oldest.age") > 0.1 })
        let before = observed.gauge("operations.oldest.age")
        queue.addOperation {}
        #expect(await comesTrue { observed.gauge("operations.oldest.age") > before + 0.1 })
        let ages = observed.metrics.meters(label: "operations.oldest.age").flatMap(\.values)
        // The age of the newer operation was never shown.
        #expect(ages.drop { $0 < before }.allSatisfy { $0 >= before })
        #expect((ages.max() ?? 0) <= start.duration(to: .now) / .seconds(1))
        mayEnd.send()
        await observed.drain()
        #expect(await comesTrue { observed.gauge("operations.oldest.age") == 0 })
    }

    @Test func ageIsThatOfTheQueueThatWaitsForTheLongest() async {
        let first = Observed(options: .sampledOften)
        let second = OperationQueue(name: "tests")
        second.reportTelemetry(
            logger: nil, metrics: first.metrics, tracer: nil, options: .sampledOften)
        let start = ContinuousClock.now
        for queue in [first.queue, second] {
            queue.isSuspended = true
            queue.addOperation {}
        }
        #expect(await comesTrue { first.gauge("operations.oldest.age") > 0.1 })
        #expect(
            first.gauge("operations.oldest.age") <= start.duration(to: .now) / .seconds(1))
        first.queue.isSuspended = false
        await first.drain()
        // Only the operation of the second queue is left.
        let before = first.gauge("operations.oldest.age")
        #expect(await comesTrue { first.gauge("operations.oldest.age") > before + 0.1 })
        second.isSuspended = false
        await second.finished()
        #expect(await comesTrue { first.gauge("operations.oldest.age") == 0 })
    }

    @Test func whatWaitsForOthersHasNoAge() async {
        let observed = Observed(options: .sampledOften)
        let never = Operation()
        let waits = BlockOperation {}
        waits.addDependency(never)
        observed.queue.addOperation(waits)
        let delayed = observed.queue.add(.delay(.seconds(3_600))) {}
        await observed.samples(3)
        #expect(observed.gauge("operations.pending") == 2)
        #expect(observed.gauge("operations.oldest.age") == 0)
        never.start()
        delayed.cancel()
        await observed.drain()
    }

    @Test func operationsFromBeforeTheReportsHaveAnAge() async {
        let queue = OperationQueue(name: "tests")
        queue.isSuspended = true
        queue.addOperation {}
        let observed = Observed(queue, options: .sampledOften)
        #expect(await comesTrue { observed.gauge("operations.oldest.age") > 0.01 })
        queue.isSuspended = false
        await observed.drain()
    }

    @Test func gaugesCanBeTurnedOff() async {
        var options = TelemetryOptions()
        options.samplingInterval = nil
        let observed = Observed(OperationQueue(width: 3), options: options)
        await observed.queue.add {}.finished()
        for label in ["operations.limit", "operations.oldest.age", "operations.workers"] {
            #expect(observed.metrics.meters(label: label).isEmpty)
        }
    }

    // MARK: Refusals and drops

    @Test func refusedAdditionsAreCounted() async throws {
        let observed = Observed()
        let queue = observed.queue
        queue.isSuspended = true
        #expect(queue.tryAdd(capacity: 1, body: {}) != nil)
        #expect(queue.tryAdd(capacity: 1, body: {}) == nil)
        #expect(queue.tryAdd(capacity: 1, body: { await Task.yield() }) == nil)
        #expect(observed.count("operations.refused", [("operation.queue", "tests")]) == 2)
        await #expect(throws: OperationQueueFull.self) {
            try await queue.add(capacity: 1, within: .milliseconds(2), body: {})
        }
        #expect(observed.count("operations.refused") == 3)
        #expect(observed.count("operations.added") == 1)
        queue.isSuspended = false
        await queue.shutDown()
        // The queue is not full.
        #expect(queue.tryAdd(capacity: 1, body: {}) == nil)
        #expect(observed.count("operations.refused") == 3)
    }

    @Test(arguments: [
        OperationQueueOverflow.dropOldest(capacity: 2), .dropNewest(capacity: 2),
    ])
    func droppedOperationsAreCounted(overflow: OperationQueueOverflow) async {
        let observed = Observed()
        observed.queue.isSuspended = true
        observed.queue.overflow = overflow
        let operations = (0..<5).map { _ in observed.queue.add {} }
        #expect(observed.count("operations.dropped", [("operation.queue", "tests")]) == 3)
        #expect(observed.ended("cancelled") == 3)
        operations.first { !$0.isCancelled }?.cancel()
        observed.queue.isSuspended = false
        await observed.drain()
        #expect(observed.ended("cancelled") == 4)
        #expect(observed.count("operations.dropped") == 3)
    }

    // MARK: Permits

    @Test func waitsForBudgetsAndRatesAreMeasuredApartFromThoseForSlots() async {
        let observed = Observed(OperationQueue(width: 1))
        let budget = ConcurrencyBudget(1)
        let others = OperationQueue()
        let (began, mayEnd, slotTaken, slotFree) = (Signal(), Signal(), Signal(), Signal())
        others.add(.cost(1, of: budget)) {
            began.send()
            mayEnd.wait()
        }
        #expect(await began.arrives())
        observed.queue.add {
            slotTaken.send()
            slotFree.wait()
        }
        #expect(await slotTaken.arrives())
        // Waits for the slot first, and then for the permit.
        let start = ContinuousClock.now
        let last = observed.queue.add("last", .cost(1, of: budget)) {}
        await spend(.milliseconds(40))
        slotFree.send()
        #expect(await comesTrue { last.explainedByPermits })
        await spend(.milliseconds(30))
        mayEnd.send()
        await observed.drain()
        let whole = Int64(start.duration(to: .now) / .nanoseconds(1))
        let permits = observed.permits("budget")
        #expect(permits.count == 1)
        #expect(permits.allSatisfy { (30_000_000...whole - 40_000_000).contains($0) })
        let waiting = observed.times("operations.waiting.duration")
        #expect(waiting.count == 2)
        let most = waiting.max() ?? 0
        #expect((40_000_000...whole - 30_000_000).contains(most))
        #expect(observed.permits("rate").isEmpty)
    }

    @Test func waitsForTokensAreMeasured() async {
        let observed = Observed()
        let rate = RateLimit(1, per: .milliseconds(30))
        await observed.queue.add(.rate(rate)) {}.finished()
        #expect(observed.permits("rate").isEmpty)
        let start = ContinuousClock.now
        await observed.queue.add(.rate(rate)) {}.finished()
        let whole = Int64(start.duration(to: .now) / .nanoseconds(1))
        #expect(await comesTrue { observed.permits("rate").count == 1 })
        #expect(observed.permits("rate").allSatisfy { (1_000_000...whole).contains($0) })
        #expect(observed.permits("budget").isEmpty)
        #expect(observed.times("operations.waiting.duration").count == 2)
    }

    // MARK: The process

    @Test func blockedWorkersAreCounted() async {
        let observed = Observed(options: .sampledOften)
        let (count, began, mayEnd) = (40, Signal(), Signal())
        let inner = (0..<count / 2).map { _ in Operation() }
        let queue = OperationQueue(width: count)
        for number in 0..<count {
            queue.addOperation {
                began.send()
                // In the kernel, or in a wait of the library.
                if number < count / 2 { inner[number].waitUntilFinished() } else { mayEnd.wait() }
            }
        }
        for _ in 0..<count { #expect(await began.arrives()) }
        #expect(await comesTrue { observed.workers("blocked") >= Double(count) })
        #expect(observed.gauge("operations.workers.limit") == 512)
        for operation in inner { operation.start() }
        for _ in 0..<count / 2 { mayEnd.send() }
        await queue.finished()
        #expect(await comesTrue { observed.workers("blocked") < Double(count) })
        #expect(await comesTrue { observed.workers("idle") > 0 })
    }

    @Test func computingWorkersAreActive() async {
        let observed = Observed(options: .sampledOften)
        let end = Tally()
        observed.queue.addOperation { while end.value == 0 {} }
        #expect(await comesTrue { observed.workers("active") >= 1 })
        end.increment()
        await observed.drain()
    }

    @Test func latenessOfTimersIsMeasured() async throws {
        let observed = Observed(options: .sampledOften)
        await observed.samples(1)
        let late = try observed.metrics.expectTimer("operations.timers.late.duration")
        #expect(late.displayUnit == .seconds)
        let count = late.values.count
        let start = ContinuousClock.now
        await observed.queue.add(.delay(.milliseconds(10))) {}.finished()
        #expect(late.values.count > count)
        let whole = Int64(start.duration(to: .now) / .nanoseconds(1)) - 10_000_000
        #expect(late.values.dropFirst(count).contains { (0...whole).contains($0) })
    }

    @Test func processIsReportedOnceForEachBackend() {
        let metrics = TestMetrics()
        let (first, second) = (OperationQueue(name: "a"), OperationQueue(name: "b"))
        func sampled(_ queue: OperationQueue, _ factory: any MetricsFactory) -> SampledQueue {
            SampledQueue(queue, named: "x", every: .seconds(1), in: factory)
        }
        var board = GaugeBoard()
        let sample = QueueSample(limit: nil, oldestAge: 0)
        // A factory that is an object, and one that is a value.
        let queues = [
            sampled(first, metrics), sampled(second, metrics),
            sampled(first, ValueFactory(metrics: metrics)),
            sampled(second, ValueFactory(metrics: metrics)),
        ]
        for queue in queues { board.set(sample, of: queue) }
        #expect(board.timers.count == 2)
        board.set(WorkerCounts(sum: 5), in: queues[1].backend.id)
        #expect(metrics.meters(label: "operations.workers").count == 3)
        #expect(metrics.sum("operations.workers") == 5)
        board.remove(queues[0])
        #expect(board.timers.count == 2)
        #expect(metrics.sum("operations.workers") == 5)
        board.remove(queues[1])
        #expect(board.timers.count == 1)
        // Nobody reports these numbers any more.
        #expect(metrics.sum("operations.workers") == 0)
    }
}

extension TelemetryOptions {
    fileprivate static var sampledOften: TelemetryOptions {
        var options = TelemetryOptions()
        options.samplingInterval = .milliseconds(2)
        return options
    }
}

extension Observed {
    /// Waits for so many samples from now on.
    fileprivate func samples(_ count: Int) async {
        func taken() -> Int {
            metrics.meters(label: "operations.oldest.age").reduce(0) { $0 + $1.values.count }
        }
        let before = taken()
        // One may be under way.
        #expect(await comesTrue { taken() > before + count })
    }

    fileprivate func workers(_ state: String) -> Double {
        metrics.meters(label: "operations.workers", dimensions: [("worker.state", state)])
            .reduce(0) { $0 + ($1.lastValue ?? 0) }
    }

    fileprivate func permits(_ kind: String) -> [Int64] {
        times("operations.permits.waiting.duration", [("operation.permits", kind)])
    }
}

extension TestMetrics {
    fileprivate func sum(_ label: String) -> Double {
        meters(label: label).reduce(0) { $0 + ($1.lastValue ?? 0) }
    }
}

extension WorkerCounts {
    fileprivate init(sum: Int) {
        self = .none
        (active, blocked, idle) = (1, 2, sum - 3)
    }
}

extension Operation {
    /// Whether the operation waits for permits.
    fileprivate var explainedByPermits: Bool { "\(explain())".contains("permit") }
}

/// Passes time without giving the processor away.
private func spend(_ time: Duration) async {
    let start = ContinuousClock.now
    while start.duration(to: .now) < time { await Task.yield() }
}

/// A factory that is a value, like that of Prometheus.
private struct ValueFactory: MetricsFactory {
    let metrics: TestMetrics

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        metrics.makeCounter(label: label, dimensions: dimensions)
    }
    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        metrics.makeMeter(label: label, dimensions: dimensions)
    }
    func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        metrics.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
    }
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        metrics.makeTimer(label: label, dimensions: dimensions)
    }
    func destroyCounter(_ handler: any CounterHandler) { metrics.destroyCounter(handler) }
    func destroyMeter(_ handler: any MeterHandler) { metrics.destroyMeter(handler) }
    func destroyRecorder(_ handler: any RecorderHandler) { metrics.destroyRecorder(handler) }
    func destroyTimer(_ handler: any TimerHandler) { metrics.destroyTimer(handler) }
}
#endif
