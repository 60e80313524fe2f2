import CoreMetrics
import Dispatch
import InMemoryLogging
import InMemoryTracing
import Logging
import MetricsTestKit
import Operations
import OperationsTelemetry
import Synchronization
import Testing

/// A queue and what it reported, to backends that keep it all.
struct Observed {
    let queue: OperationQueue
    let metrics = TestMetrics()
    let tracer = InMemoryTracer()
    let log = InMemoryLogHandler()
    let reports: TelemetryReports

    init(
        _ queue: OperationQueue = OperationQueue(), name: String? = "tests",
        level: Logger.Level = .trace, options: TelemetryOptions = TelemetryOptions()
    ) {
        self.queue = queue
        if let name { queue.name = name }
        var logger = Logger(label: "tests") { [log] _ in log }
        logger.logLevel = level
        reports = queue.reportTelemetry(
            logger: logger, metrics: metrics, tracer: tracer, options: options)
    }

    /// The sum of a counter.
    func count(_ label: String, _ dimensions: [(String, String)] = []) -> Int64 {
        metrics.counterTotal(label: label, dimensions: dimensions)
    }

    /// How many operations ended in a way.
    func ended(_ outcome: String) -> Int64 {
        count("operations.ended", [("queue", "tests"), ("outcome", outcome)])
    }

    /// What a gauge shows; the share of all dimensions together.
    func gauge(_ label: String) -> Double {
        metrics.meters(label: label).reduce(0) { $0 + ($1.lastValue ?? 0) }
    }

    /// What a timer has recorded.
    func times(_ label: String, _ dimensions: [(String, String)] = []) -> [Int64] {
        metrics.timers(label: label, dimensions: dimensions).flatMap(\.values)
    }

    /// The log, as lines of level, message and operation.
    var lines: [String] {
        log.entries.map { "\($0.level): \($0.message) \($0.metadata["operation"] ?? "")" }
    }

    func spans(_ name: String) -> [FinishedInMemorySpan] {
        tracer.finishedSpans.filter { $0.operationName == name }
    }

    /// Waits until everything has left the queue.
    func drain() async { await queue.finished() }
}

struct Broken: Error, CustomStringConvertible {
    var description: String { "no connection" }
}

final class Recorder<Value: Sendable>: Sendable {
    private let storage = Protected<[Value]>([])

    func record(_ value: Value) { storage.withLock { $0.append(value) } }
    var values: [Value] { storage.withLock { $0 } }
}

final class Tally: Sendable {
    private let count = Atomic<Int>(0)
    @discardableResult
    func increment() -> Int { count.add(1, ordering: .relaxed).newValue }
    var value: Int { count.load(ordering: .acquiring) }
}

/// An event that threads can wait for; each wait uses up one signal.
struct Signal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func send() { semaphore.signal() }
    /// Blocks; false if two minutes went by, so that a test fails and does not hang.
    @discardableResult
    func wait() -> Bool { semaphore.wait(timeout: .now() + 120) == .success }

    /// The same for tests, whose threads are few, and serve the other tests too.
    func arrives() async -> Bool {
        await comesTrue { semaphore.wait(timeout: .now()) == .success }
    }
}

/// Lets other tasks run until it is so; false if that takes two minutes.
func comesTrue(_ condition: () -> Bool) async -> Bool {
    let start = ContinuousClock.now
    while !condition() {
        if start.duration(to: .now) > .seconds(120) { return false }
        await Task.yield()
    }
    return true
}

extension TypedOperation {
    /// Waits for a failure that is made on purpose, and looks at it, so that nobody is told of it.
    func fails() async {
        await finished()
        #expect(error != nil)
    }
}

/// Suspends until the task is cancelled; the hour only bounds a test that fails.
func untilCancelled() async throws { try await Task.sleep(for: .seconds(3600)) }
