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
