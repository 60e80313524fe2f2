import Synchronization

/// A counter for several threads.
public final class Tally: Sendable {
    private let count = Atomic<Int>(0)

    /// Makes a counter at zero.
    public init() {}

    /// Adds one, and returns the new value.
    @discardableResult
    public func increment() -> Int { count.add(1, ordering: .relaxed).newValue }

    /// The current value.
    public var value: Int { count.load(ordering: .acquiring) }
}
