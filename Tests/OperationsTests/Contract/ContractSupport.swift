import Dispatch
import Operations
import TestSupport
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What large amounts are divided by where code runs slowly.
#if THREAD_SANITIZER
let slowness = 20
#elseif DEBUG
let slowness = 10
#else
let slowness = 1
#endif

/// An operation that does nothing, known by a name.
func named(_ name: String) -> Operation {
    let operation = Operation()
    operation.name = name
    return operation
}

/// Counts its own end.
final class Token: Sendable {
    private let gone: Tally
    init(_ gone: Tally) { self.gone = gone }
    deinit { gone.increment() }
}

/// Seeds of random tests: two fixed ones and two new ones each time. A failure prints its seed.
let contractSeeds: [UInt64] = {
    var generator = SystemRandomNumberGenerator()
    return [1, 2] + (0..<2).map { _ in generator.next() }
}()

/// Ends the process in four minutes: for exit tests of code that would hang if it were wrong, with
/// the status that makes the test fail.
func endSoon(_ status: Int32 = EXIT_SUCCESS) {
    startTestThread {
        _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 240)
        exit(status)
    }
}
