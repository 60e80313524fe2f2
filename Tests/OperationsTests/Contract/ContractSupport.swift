import Dispatch
import Operations
import OperationsTestSupport
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The divisor of large test sizes in builds whose code runs slowly.
#if THREAD_SANITIZER
let slowness = 20
#elseif DEBUG
let slowness = 10
#else
let slowness = 1
#endif

/// Makes an operation that does nothing and has a name.
func named(_ name: String) -> Operation {
    let operation = Operation()
    operation.name = name
    return operation
}

/// Increments a tally when it is released.
final class Token: Sendable {
    private let releases: Tally
    init(_ releases: Tally) { self.releases = releases }
    deinit { releases.increment() }
}

/// The seeds of random tests: two fixed seeds, and two new seeds for each run. A failure prints its
/// seed.
let contractSeeds: [UInt64] = {
    var generator = SystemRandomNumberGenerator()
    return [1, 2] + (0..<2).map { _ in generator.next() }
}()

/// Ends the process after four minutes with a status that makes its exit test fail.
///
/// For exit tests of code that hangs if it is wrong.
func endSoon(_ status: Int32 = EXIT_SUCCESS) {
    startTestThread {
        _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 240)
        exit(status)
    }
}
