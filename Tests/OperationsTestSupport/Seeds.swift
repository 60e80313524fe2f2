import class Foundation.ProcessInfo

// How much random tests do, and with which seeds. Variables of the environment choose it:
//
// - `OPERATIONS_NIGHT=1` runs the full amounts of tests that take long. Without it, such a test
//   does a tenth.
// - `OPERATIONS_NEW_SEEDS=1` replaces the fixed seeds by as many new ones. Without it, each run
//   repeats the same seeds, so a change fails only by its own fault. A new seed that has failed
//   becomes one of the fixed seeds of its test.
// - `OPERATIONS_STRESS_SEED=…` runs that seed alone.
//
// A random test takes its seed as an argument named `seed`. So each of its failures prints the
// seed, for example `seed → 123`.

/// The seeds of a random test: the given ones, unless the environment asks for other seeds.
public func seeds(_ fixed: UInt64...) -> [UInt64] { chosen(fixed) }

/// The seeds of a random test: those from 1 to a number, unless the environment asks for others.
public func seeds(count: Int) -> [UInt64] { chosen(Array(1...UInt64(count))) }

/// The number of rounds of a test that takes long: a tenth of them, except at night.
public func nightRounds(_ count: Int) -> Int {
    environment["OPERATIONS_NIGHT"] == "1" ? count : max(1, count / 10)
}

private let environment = ProcessInfo.processInfo.environment

private func chosen(_ fixed: [UInt64]) -> [UInt64] {
    if let seed = environment["OPERATIONS_STRESS_SEED"].flatMap({ UInt64($0) }) { return [seed] }
    guard environment["OPERATIONS_NEW_SEEDS"] == "1" else { return fixed }
    // No fixed seed is that large.
    return fixed.map { _ in .random(in: 1_000_000 ... .max) }
}
