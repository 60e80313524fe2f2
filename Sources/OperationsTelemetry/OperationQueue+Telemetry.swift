#if Telemetry
public import CoreMetrics
public import Logging
public import Operations
public import Tracing

extension OperationQueue {
    /// Reports the activity of the queue's operations from now on: metrics, log messages and a span
    /// for each operation.
    ///
    /// ```swift
    /// let thumbnails = OperationQueue()
    /// thumbnails.name = "thumbnails"
    /// thumbnails.reportTelemetry(logger: logger)
    /// ```
    ///
    /// Each of the three defaults to the current backend where this method is called. So bootstrap
    /// the systems before, or call this method inside of `withLogger`, `withMetricsFactory` or
    /// `withTracer`. If an argument is nil, the queue reports nothing of that kind. If metrics or
    /// tracing have not been bootstrapped, nothing is done for them. <doc:OperationsTelemetry>
    /// lists what is reported, and under which names.
    ///
    /// The queue's `name` at this moment is the `operation.queue` of all reports. A queue without a
    /// name reports as `unnamed`, so that there are no more time series than names in the program.
    /// Operations already in the queue are not reported, except to a logger that is the only
    /// receiver. Barrier blocks have a span, and are otherwise not reported.
    ///
    /// A queue reports to one receiver at a time: another call ends the reports of the previous
    /// one. The backends are called on the thread of the event, with no lock held; the time they
    /// take is added to the operation's. The reports retain neither the queue nor, once they have
    /// ended, its operations.
    ///
    /// - Parameters:
    ///   - logger: receives failures that nothing observes as errors, stalls as warnings, and
    ///     everything else at the level `debug`.
    ///   - metrics: makes the metrics.
    ///   - tracer: makes the spans.
    ///   - options: further settings.
    /// - Returns: an object that ends the reports; it need not be retained.
    @discardableResult
    public final func reportTelemetry(
        logger: Logger? = .current,
        metrics: (any MetricsFactory)? = MetricsSystem.factory,
        tracer: (any Tracer)? = InstrumentationSystem.tracer,
        options: TelemetryOptions = TelemetryOptions()
    ) -> TelemetryReports {
        let telemetry = QueueTelemetry(
            queue: givenName.flatMap { $0.isEmpty ? nil : $0 } ?? "unnamed", logger: logger,
            metrics: metrics.flatMap { $0 is NOOPMetricsHandler ? nil : $0 },
            tracer: tracer.flatMap { $0 is NoOpTracer ? nil : $0 }, options: options)
        let registration = begin(telemetry)
        if telemetry.isWanted {
            telemetry.watchStalls(of: self)
            telemetry.sample(self)
        } else {
            registration.end()
        }
        return TelemetryReports(telemetry, registration)
    }
}
#endif
