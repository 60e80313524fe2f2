import Synchronization

/// A lock that is only ever held for a few instructions.
///
/// `Synchronization.Mutex` passes ownership to the thread that has waited longest, so that under
/// contention every release costs a switch of threads. The first thread that arrives takes this
/// lock. A waiting thread spins, then yields, then sleeps for a moment, in case the holder has lost
/// its processor.
package struct SpinLock: ~Copyable, Sendable {
    private let isHeld = Atomic<Bool>(false)

    package init() {}

    @inline(__always)
    package borrowing func lock() {
        if isHeld.exchange(true, ordering: .acquiring) { lockSlowly() }
    }

    @inline(__always)
    package borrowing func unlock() {
        isHeld.store(false, ordering: .releasing)
    }

    @inline(__always)
    package borrowing func withLock<Result>(_ body: () -> Result) -> Result {
        lock()
        defer { unlock() }
        return body()
    }

    @inline(never)
    private borrowing func lockSlowly() {
        var backoff = Backoff()
        repeat {
            while isHeld.load(ordering: .relaxed) { backoff.pause() }
        } while isHeld.exchange(true, ordering: .acquiring)
    }
}

/// A backoff for waiting until another thread, if it is running, has executed a few instructions.
struct Backoff {
    private var pauses = 0

    mutating func pause() {
        pauses += 1
        if pauses < 50 { return }
        if pauses < 60 { yieldProcessor() } else { sleepBriefly() }
    }
}

/// Padding as large as a cache line, to keep values apart.
struct CacheLine {
    private let words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (
        0, 0, 0, 0, 0, 0, 0, 0
    )
}
