public import CoreMetrics
public import Logging
public import Operations
public import Tracing

extension OperationQueue {
    /// Reports what the queue's operations do, from now on: metrics, log messages and a span for each operation.
    ///
    /// ```swift
    /// let thumbnails = OperationQueue()
    /// thumbnails.name = "thumbnails"
    /// thumbnails.reportTelemetry(logger: logger)
    /// ```
    ///
    /// Each of the three is what is current where this is called, unless another one is given: so bootstrap the
    /// systems before, or call this inside of `withLogger`, `withMetricsFactory` or `withTracer`. With nil the
    /// queue reports nothing of that kind; and where nobody has bootstrapped metrics or tracing, nothing is done
    /// for these. What is reported, under which names, is in <doc:OperationsTelemetry>.
    ///
    /// The queue's `name` at this moment is the `queue` of all that is reported; a
    /// queue without one reports as `unnamed`, so that there are no more time series than names in the program.
    /// Operations that are in the queue already are not reported; nor are barrier blocks, but for a span.
    ///
    /// A queue reports to one receiver at a time: another call ends what the one before began. The backends are
    /// called on the thread where something happens, with no lock held; what they take, operations take longer.
    /// Nothing is kept: neither the queue nor its operations, once they have ended.
    ///
    /// - Parameters:
    ///   - logger: receives failures as errors, stalls as warnings, and all else at the level `debug`.
    ///   - metrics: makes the metrics.
    ///   - tracer: makes the spans.
    ///   - options: what there is to choose besides.
    /// - Returns: what ends the reports; it need not be kept.
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
        let listening = listen(telemetry)
        if telemetry.isWanted { telemetry.watchStalls(of: self) } else { listening.end() }
        return TelemetryReports(telemetry, listening)
    }
}
