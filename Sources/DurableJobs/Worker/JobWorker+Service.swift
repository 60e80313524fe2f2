#if DurableJobs && ServiceLifecycle
public import ServiceLifecycle

/// With the package trait `ServiceLifecycle`, a worker is a service of swift-service-lifecycle.
///
/// ```swift
/// let group = ServiceGroup(
///     services: [worker, server], gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// When the group shuts down, the worker stops, as after ``JobWorker/stop()``.
extension JobWorker: Service {}

extension JobWorker {
    /// Calls a function that runs the worker. The worker stops when the group of the current task
    /// shuts down.
    func stoppingOnShutdown(_ body: () async throws -> Void) async throws {
        try await withGracefulShutdownHandler(operation: body) { self.stop() }
    }
}
#elseif DurableJobs
extension JobWorker {
    func stoppingOnShutdown(_ body: () async throws -> Void) async throws { try await body() }
}
#endif
