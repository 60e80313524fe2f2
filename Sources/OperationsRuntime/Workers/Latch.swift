#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// A latch: threads wait until another thread opens it. An opened latch stays open until it is
/// closed.
///
/// Time limits follow the monotonic clock: a wait does not become longer when the system clock is
/// set. On Linux a `DispatchSemaphore` follows the settable clock.
///
/// Unchecked: `isOpen` is only accessed with the mutex held.
package final class Latch: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var isOpen = false

    package init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        #if !canImport(Darwin)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        #endif
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    package func open() {
        set(true)
        // Wake without holding the mutex, so that the woken threads need not wait for the mutex.
        // The caller keeps the latch alive.
        wakeAll()
    }

    /// Closes the latch again. Only for a thread that is the only one to wait for the latch.
    package func close() { set(false) }

    private func set(_ isOpen: Bool) {
        pthread_mutex_lock(mutex)
        self.isOpen = isOpen
        pthread_mutex_unlock(mutex)
    }

    /// Wakes all waiting threads. Those that find the latch closed continue to wait.
    func wakeAll() { pthread_cond_broadcast(condition) }

    /// Waits until the latch is open. Returns false if the time limit passed first.
    ///
    /// - Parameter limit: The time limit in nanoseconds; nil for none.
    @discardableResult
    package func wait(nanoseconds limit: UInt64? = nil) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        if isOpen || limit == 0 { return isOpen }
        guard let limit else {
            while !isOpen { pthread_cond_wait(condition, mutex) }
            return true
        }
        // Fixed before the first wake-up: a thread may wake several times before the latch opens.
        let end = monotonicNanoseconds().addingSaturated(limit)
        while !isOpen {
            if !wait(until: end) { return isOpen }
        }
        return true
    }

    /// Waits with the mutex released meanwhile, up to a time of `monotonicNanoseconds()`. Returns
    /// false if that time came. May return spuriously.
    private func wait(until end: UInt64) -> Bool {
        #if canImport(Darwin)
        // Darwin's condition variables support only the settable clock and relative times.
        let now = monotonicNanoseconds()
        var time = timespec(nanoseconds: end > now ? end - now : 0)
        return pthread_cond_timedwait_relative_np(condition, mutex, &time) != ETIMEDOUT
        #else
        var time = timespec(nanoseconds: end)
        return pthread_cond_timedwait(condition, mutex, &time) != ETIMEDOUT
        #endif
    }
}
