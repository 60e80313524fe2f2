public import Synchronization

/// A lock that is only ever held for a few instructions.
///
/// `Synchronization.Mutex` passes ownership to the thread that has waited longest, so that under
/// contention every release costs a switch of threads. The first thread that arrives takes this
/// lock. A waiting thread spins, then yields, then sleeps for a moment, in case the holder has lost
/// its processor.
@usableFromInline
package struct SpinLock: ~Copyable, Sendable {
    @usableFromInline let isHeld = Atomic<Bool>(false)

    @inlinable package init() {}

    @inlinable
    @inline(__always)
    package borrowing func lock() {
        if isHeld.exchange(true, ordering: .acquiring) { lockSlowly() }
    }

    @inlinable
    @inline(__always)
    package borrowing func unlock() {
        isHeld.store(false, ordering: .releasing)
    }

    @inlinable
    @inline(__always)
    package borrowing func withLock<Result>(_ body: () -> Result) -> Result {
        lock()
        defer { unlock() }
        return body()
    }

    @inline(never)
    @usableFromInline
    borrowing func lockSlowly() {
        var backoff = Backoff()
        repeat {
            while isHeld.load(ordering: .relaxed) { backoff.pause() }
        } while isHeld.exchange(true, ordering: .acquiring)
    }
}

/// A backoff for waiting until another thread, if it is running, has executed a few instructions.
@usableFromInline
package struct Backoff {
    @usableFromInline var pauses = 0

    @inlinable package init() {}

    package mutating func pause() {
        pauses += 1
        if pauses < 50 { return }
        if pauses < 60 { yieldProcessor() } else { sleepBriefly() }
    }
}

/// Padding as large as a cache line, to keep values apart.
package struct CacheLine {
    private let words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (
        0, 0, 0, 0, 0, 0, 0, 0
    )

    package init() {}
}
