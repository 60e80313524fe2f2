#if DurableJobs && Telemetry
public import CoreMetrics
public import DurableJobs
public import Logging
import Operations
import OperationsRuntime
public import Tracing

extension JobQueue {
    /// Reports the jobs of this queue from now on: metrics, log messages and a span for each
    /// attempt.
    ///
    /// ```swift
    /// let jobs = try await JobQueue("photos", in: .postgres("postgres:///photos"))
    /// jobs.reportTelemetry(logger: logger)
    /// ```
    ///
    /// The reports are about what happens in this process through this object: jobs that it
    /// enqueues, and workers that were made with it. The gauges are about the queue in the store.
    /// So call this method in each process that enqueues or works. The events also go to the
    /// observers of the workers' options.
    ///
    /// Each of the three defaults to the current backend where this method is called. So bootstrap
    /// the systems before, or call this method inside of `withLogger`, `withMetricsFactory` or
    /// `withTracer`. If an argument is nil, nothing of that kind is reported. If metrics or
    /// tracing have not been bootstrapped, nothing is done for them. <doc:DurableJobsTelemetry>
    /// lists what is reported, and under which names.
    ///
    /// With a tracer, `enqueue` stores the trace context of the calling task with the job, and each
    /// attempt has a span whose parent is that context, in whatever process it runs.
    ///
    /// A queue object reports to one receiver at a time: another call ends the reports of the
    /// previous one. The backends are called with no lock held; the time they take is added to
    /// that of the worker.
    ///
    /// - Parameters:
    ///   - logger: receives discarded jobs as errors, problems of workers as warnings, the end
    ///     of an outage as a notice, and everything else at the level `debug`.
    ///   - metrics: makes the metrics.
    ///   - tracer: makes the spans.
    ///   - options: further settings.
    /// - Returns: an object that ends the reports; it need not be retained.
    @discardableResult
    public final func reportTelemetry(
        logger: Logger? = .current,
        metrics: (any MetricsFactory)? = MetricsSystem.factory,
        tracer: (any Tracer)? = InstrumentationSystem.tracer,
        options: JobTelemetryOptions = JobTelemetryOptions()
    ) -> JobTelemetryReports {
        let telemetry = JobTelemetry(
            queue: name, logger: logger,
            metrics: metrics.flatMap { $0 is NOOPMetricsHandler ? nil : $0 },
            tracer: tracer.flatMap { $0 is NoOpTracer ? nil : $0 }, options: options)
        // Before the telemetry is installed: another call could end it at once.
        telemetry.sample(self, every: options.samplingInterval)
        let previous = observer.withLock { observer in
            defer { observer = telemetry }
            return observer
        }
        (previous as? JobTelemetry)?.end()
        return JobTelemetryReports { [weak self] in
            telemetry.end()
            self?.observer.withLock { observer in
                if observer === telemetry { observer = nil }
            }
        }
    }
}

/// Running reports, which end with ``end()`` or when the queue object is deinitialized.
///
/// This object does not retain the queue, and the caller need not retain this object.
public final class JobTelemetryReports: Sendable {
    private let endReports: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) { endReports = end }

    /// Ends the reports.
    ///
    /// Reports under way, and the spans of attempts that run, go on to their end. The gauges keep
    /// their values. A second call changes nothing.
    public func end() { endReports() }
}
#endif
