// OperationsTelemetry: reports the activity of operation queues to swift-metrics, swift-log and
// swift-distributed-tracing.
//
// The input is the events that a queue sends to its observers (`QueueObserver`, in Operations): an
// operation is added, started, repeated and ended. The output is metrics, log messages and spans,
// produced on the thread of the event and with no lock held.
//
//   OperationQueue.reportTelemetry      the call that users make
//            │ installs
//   Observing/TelemetryObserver         one for each queue; receives the events
//            │ asks the current
//   Observing/QueueTelemetry            one for each call; knows the three backends
//            │ makes one for each operation that is added
//   Observing/OperationTelemetry        counts the operation once, and has its span
//            │
//   Metrics/  Logs/  Traces/            the reports to each backend, and the names used there
//
// This module uses only package interfaces of Operations, which knows nothing of this module, and
// the reports of stalls of OperationsInsight.
//
// The package manager fetches the three dependencies only if the package's trait `Telemetry` is
// enabled. Without the trait, this module contains nothing but the declarations below: the
// compiler's error for a call names the remedy.

#if !Telemetry
public import Operations

extension OperationQueue {
    /// Needs the package trait `Telemetry` of swift-operations.
    @available(
        *, unavailable,
        message: "enable the package's trait: .package(url: …, traits: [\"Telemetry\"])"
    )
    public final func reportTelemetry(
        logger: Any? = nil, metrics: Any? = nil, tracer: Any? = nil, options: Any? = nil
    ) {}
}

extension OperationsDiagnostics {
    /// Needs the package trait `Telemetry` of swift-operations.
    @available(
        *, unavailable,
        message: "enable the package's trait: .package(url: …, traits: [\"Telemetry\"])"
    )
    public static func report(to logger: Any) {}
}
#endif
