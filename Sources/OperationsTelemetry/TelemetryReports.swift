import Operations

/// Goes on until it is ended or the queue goes away. It does not keep the queue, and need not be kept.
public final class TelemetryReports: Sendable {
    private let telemetry: QueueTelemetry
    private let listening: QueueObservation

    init(_ telemetry: QueueTelemetry, _ listening: QueueObservation) {
        (self.telemetry, self.listening) = (telemetry, listening)
    }

    /// Ends the reports.
    ///
    /// What is being told at this moment is told to its end. Spans of operations that run now end now, with an
    /// event that says so, and the queue's share of the gauges is taken back. Ending twice changes nothing.
    public func end() {
        listening.end()
        telemetry.listeningEnded()
    }
}
