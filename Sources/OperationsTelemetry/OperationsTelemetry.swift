// OperationsTelemetry: what operation queues do, told to swift-metrics, swift-log and swift-distributed-tracing.
//
// In comes what a queue tells its listener (`QueueObserver`, in Operations): each operation that is added,
// started, repeated and ended. Out go metrics, log messages and spans, on the thread where it happens and
// with no lock held.
//
//   OperationQueue.reportTelemetry      what users call
//            │ listens
//   Listening/QueueTelemetry            one for each call; knows the three backends
//            │ makes one for each operation that is added
//   Listening/OperationTelemetry        counts it once, and has its span
//            │
//   Metrics/  Logs/  Traces/            what each backend is told, and what the things are called there
//
// Operations is touched by package interfaces only, and knows nothing of this.
