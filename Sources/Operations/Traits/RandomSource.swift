import Synchronization

/// Where random numbers come from: the system, or a seed, which gives the same ones each time.
package final class RandomSource: Sendable {
    private let isSeeded: Bool
    private let state: Atomic<UInt64>

    /// The system's.
    package static let system = RandomSource(isSeeded: false, state: 0)

    /// Gives the same numbers for the same seed.
    package convenience init(seed: UInt64) { self.init(isSeeded: true, state: seed) }

    private init(isSeeded: Bool, state: UInt64) {
        self.isSeeded = isSeeded
        self.state = Atomic(state)
    }

    /// Evenly from 0 up to, but not including, 1.
    package func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

    private func next() -> UInt64 {
        guard isSeeded else {
            var generator = SystemRandomNumberGenerator()
            return generator.next()
        }
        // SplitMix64: G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
        var z = state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
