import Synchronization

/// The moment at which a helper that waits stops to wait: the end of the test's time.
///
/// Helpers have no limit of their own, because a limit that is long enough on one machine is too
/// short on a busy one. The suite's time limit ends a test that hangs: swift-testing records an
/// issue and cancels the test's task. A helper then stops, and says what it saw last.
///
/// Some code has no suite with a limit: the process of an exit test, and tests without a time
/// limit. There a wait ends after a quarter of an hour, which is longer than the limits of suites.
public struct TestEnd: Sendable {
    /// Whether the time of one test is over.
    final class Flag: Sendable {
        private let value = Atomic(false)

        var isSet: Bool { value.load(ordering: .relaxed) }

        func set() { value.store(true, ordering: .relaxed) }
    }

    /// The flag of the test that the current task belongs to, if its suite has a limit.
    @TaskLocal static var currentFlag: Flag?

    private static let limitWithoutSuite = Duration.seconds(900)

    private let flag: Flag?
    private let latest = ContinuousClock.now + limitWithoutSuite

    /// The end of the test that the current task belongs to.
    public init() { self.init(Self.currentFlag) }

    init(_ flag: Flag?) { self.flag = flag }

    /// Whether the test's time is over.
    public var hasCome: Bool { flag?.isSet ?? (ContinuousClock.now >= latest) }
}
