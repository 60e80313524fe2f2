import Synchronization

/// A source of random numbers: the system, or a seed, which gives the same numbers each time.
package final class RandomSource: Sendable {
    private let isSeeded: Bool
    private let state: Atomic<UInt64>

    /// The random numbers of the system.
    package static let system = RandomSource(isSeeded: false, state: 0)

    /// Makes a source that gives the same numbers for the same seed.
    package convenience init(seed: UInt64) { self.init(isSeeded: true, state: seed) }

    private init(isSeeded: Bool, state: UInt64) {
        self.isSeeded = isSeeded
        self.state = Atomic(state)
    }

    /// Returns a random number, evenly distributed from 0 up to, but not including, 1.
    package func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

    private func next() -> UInt64 {
        guard isSeeded else {
            var generator = SystemRandomNumberGenerator()
            return generator.next()
        }
        return SplitMix64.mixed(
            state.wrappingAdd(SplitMix64.step, ordering: .relaxed).newValue)
    }
}

/// The generator of Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
///
/// Implemented here, so that a seed means the same with every version of Swift.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= Self.step
        return Self.mixed(state)
    }

    /// The increment of the state for each number.
    static var step: UInt64 { 0x9E37_79B9_7F4A_7C15 }

    /// Returns the number that belongs to a state.
    static func mixed(_ state: UInt64) -> UInt64 {
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
