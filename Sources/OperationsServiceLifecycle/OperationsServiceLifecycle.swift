// OperationsServiceLifecycle: makes an operation queue a service of swift-service-lifecycle, which
// is shut down with the other services of a server.
//
// The package manager fetches swift-service-lifecycle only if the package's trait
// `ServiceLifecycle` is enabled. Without the trait, this module contains nothing but the
// declaration below: the compiler's error for a use names the remedy.

#if !ServiceLifecycle
public import Operations

/// Needs the package trait `ServiceLifecycle` of swift-operations.
@available(
    *, unavailable,
    message: "enable the package's trait: .package(url: …, traits: [\"ServiceLifecycle\"])"
)
public struct QueueService {
    /// Needs the package trait `ServiceLifecycle` of swift-operations.
    public init(_ queue: OperationQueue, grace: Duration = .seconds(20)) {}
    /// Needs the package trait `ServiceLifecycle` of swift-operations.
    public init(_ queues: [OperationQueue], grace: Duration = .seconds(20)) {}
}
#endif
