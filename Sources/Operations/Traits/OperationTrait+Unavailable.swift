// What people try first among the traits, with the name that is right.

extension OperationTraitOrName where Self == OperationTrait {
    /// Not available: use ``qualityOfService(_:)``.
    @available(*, unavailable, renamed: "qualityOfService(_:)")
    public static func qos(_ quality: QualityOfService) -> OperationTrait { .mayFail }

    /// Not available: use ``debounced(by:_:atMost:)``.
    @available(*, unavailable, message: "write: .debounced(by: \"a key\", .milliseconds(300))")
    public static func debounce(_ pause: Duration) -> OperationTrait { .mayFail }

    /// Not available: use ``debounced(by:_:atMost:)``.
    @available(*, unavailable, message: "write: .debounced(by: \"a key\", .milliseconds(300))")
    public static func debounced(_ pause: Duration) -> OperationTrait { .mayFail }

    /// Not available: use ``throttled(by:_:)``.
    @available(*, unavailable, message: "write: .throttled(by: \"a key\", .seconds(1))")
    public static func throttle(_ interval: Duration) -> OperationTrait { .mayFail }

    /// Not available: use ``throttled(by:_:)``.
    @available(*, unavailable, message: "write: .throttled(by: \"a key\", .seconds(1))")
    public static func throttled(_ interval: Duration) -> OperationTrait { .mayFail }

    /// Not available: use ``limited(to:by:)``.
    @available(
        *, unavailable,
        message: "write: .limited(to: 2, by: \"a key\"), or give the queue a width"
    )
    public static func limit(_ count: Int) -> OperationTrait { .mayFail }

    /// Not available: use ``deduplicated(by:)``.
    @available(
        *, unavailable,
        message:
            "write: .deduplicated(by: key) to join one that is under way, or .exclusive(by: key)"
    )
    public static func unique(_ key: some Hashable & Sendable) -> OperationTrait { .mayFail }

    /// Not available: use ``deduplicated(by:)``.
    @available(
        *, unavailable,
        message:
            "write: .deduplicated(by: key) to join one that is under way, or .exclusive(by: key)"
    )
    public static func unique(by key: some Hashable & Sendable) -> OperationTrait { .mayFail }

    /// Not available: use ``retry(_:backoff:if:)``.
    @available(*, unavailable, message: "write: .retry(3, backoff: .constant(.seconds(1)))")
    public static func retry(_ limit: Int, delay: Duration) -> OperationTrait { .mayFail }
}
