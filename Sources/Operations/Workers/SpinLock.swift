import Synchronization

/// A lock that is only ever held for a few instructions.
///
/// `Synchronization.Mutex` hands itself over to the thread that waited longest, so that under contention
/// every release costs a switch of threads; this one is taken by whoever comes first. A waiter spins, then
/// yields, then sleeps for a moment, in case the holder has lost its processor.
struct SpinLock: ~Copyable, Sendable {
    private let isHeld = Atomic<Bool>(false)

    @inline(__always)
    borrowing func lock() {
        if isHeld.exchange(true, ordering: .acquiring) { lockSlowly() }
    }

    @inline(__always)
    borrowing func unlock() {
        isHeld.store(false, ordering: .releasing)
    }

    @inline(__always)
    borrowing func withLock<Result>(_ body: () -> Result) -> Result {
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

/// How to wait for something that takes another thread a few instructions, if it is running.
struct Backoff {
    private var pauses = 0

    mutating func pause() {
        pauses += 1
        if pauses < 50 { return }
        if pauses < 60 { yieldProcessor() } else { sleepBriefly() }
    }
}

/// As much memory as processors pass to each other at once, to keep things apart.
struct CacheLine {
    private let words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (
        0, 0, 0, 0, 0, 0, 0, 0
    )
}
