#if DurableJobs && Telemetry
import CoreMetrics
import OperationsRuntime
import DurableJobs
import Logging
import Operations
import Tracing

/// Reports on a queue object for one call of `reportTelemetry`.
///
/// The queue object retains this object, which does not retain the queue object.
final class JobTelemetry: JobQueueObserver {
    private let queue: String
    private let log: JobLog?
    private let metrics: JobMetrics?
    private let tracer: (any Tracer)?
    private let sampler = Locked<Task<Void, Never>?>(nil)
    private let isOver = AutoResetEvent()

    init(
        queue: String, logger: Logger?, metrics: (any MetricsFactory)?, tracer: (any Tracer)?,
        options: JobTelemetryOptions
    ) {
        self.queue = queue
        log = logger.map { JobLog($0, queue: queue) }
        self.metrics = metrics.map {
            JobMetrics(queue: queue, nameLimit: options.jobNameLimit, in: $0)
        }
        self.tracer = tracer
    }

    deinit { end() }

    /// Ends the samples.
    func end() {
        sampler.withLock { $0 }?.cancel()
        isOver.signal()
    }

    // MARK: Events

    func traceOfNewJob() -> String? {
        guard let tracer, let context = ServiceContext.current else { return nil }
        return TraceText.text(of: context, by: tracer)
    }

    func attemptBegins(_ job: ClaimedJob) -> (any JobAttemptObserver)? {
        guard metrics != nil || tracer != nil else { return nil }
        return AttemptTelemetry(
            metrics: metrics?.metrics(of: job.name),
            span: tracer.map { AttemptTelemetry.span(of: job, in: queue, by: $0) })
    }

    func workerReports(_ event: JobWorkerEvent) {
        metrics?.report(event)
        log?.report(event)
    }

    // MARK: Samples

    /// Sets the gauges now and at intervals, until the reports end or the queue object is
    /// deinitialized or closed.
    func sample(_ queue: JobQueue, every interval: Duration?) {
        guard let metrics, let interval else { return }
        // The task must retain neither the queue object nor this object.
        // A program may block Swift's own pool, whose threads also end the sleep of a task.
        let task = Task(executorPreference: PoolExecutor.timers) {
            [weak queue, log, isOver] in
            while let pause = await Self.sample(queue, every: interval, metrics, log, isOver) {
                await isOver.wait(atMost: pause)
            }
            queue?.health.forget(isOver)
        }
        sampler.withLock { $0 = task }
    }

    /// Returns the time until the next sample; nil if there will be none.
    ///
    /// - Parameter owner: identifies the loop.
    private static func sample(
        _ queue: JobQueue?, every interval: Duration, _ metrics: JobMetrics, _ log: JobLog?,
        _ owner: AutoResetEvent
    ) async -> Duration? {
        guard let queue, !Task.isCancelled else { return nil }
        func report(_ event: JobWorkerEvent) {
            metrics.report(event)
            log?.report(event)
        }
        let start = ContinuousClock.now
        do {
            let depth = try await queue.store.depth(of: queue.name)
            guard !Task.isCancelled else { return nil }
            metrics.set(depth)
        } catch JobError.closed {
            return nil
        } catch {
            queue.health.failed(.samples, of: owner)
            report(.storeFailed("\(error)"))
            // Soon, because the end of the outage is reported when all loops have seen it.
            return max(.milliseconds(1), min(interval, .seconds(1)))
        }
        if let time = queue.health.succeeded(.samples, of: owner) {
            report(.storeRecovered(after: time))
        }
        return max(interval, .milliseconds(1), start.duration(to: .now) * 50)
    }
}
#endif
