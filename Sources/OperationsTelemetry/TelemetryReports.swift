#if Telemetry
import Operations

/// Running reports, which end with ``end()`` or when the queue is deinitialized.
///
/// This object does not retain the queue, and the caller need not retain this object.
public final class TelemetryReports: Sendable {
    private let telemetry: QueueTelemetry
    private let registration: TelemetryRegistration

    init(_ telemetry: QueueTelemetry, _ registration: TelemetryRegistration) {
        (self.telemetry, self.registration) = (telemetry, registration)
    }

    /// Ends the reports.
    ///
    /// Reports under way run to their end. Spans of operations that run now end now, with an event
    /// that says so, and the queue's share of the gauges is subtracted. A second call changes
    /// nothing.
    public func end() {
        registration.end()
        // The queue may no longer exist.
        telemetry.end()
    }
}
#endif
