import OperationsRuntime

/// A random number generator that gives the same numbers for the same seed.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var generator: SplitMix64

    /// Makes a generator whose numbers follow from the seed alone.
    public init(seed: UInt64) { generator = SplitMix64(seed: seed) }

    /// Returns the next number.
    public mutating func next() -> UInt64 { generator.next() }
}
