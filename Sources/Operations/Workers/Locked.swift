import Synchronization

/// A value that is only touched with its mutex held.
///
/// This is `Synchronization.Mutex`. The thread sanitizer does not see that one work on Linux, because
/// it is built into the runtime, so builds for the sanitizer (`-DTHREAD_SANITIZER`) also say by an atomic
/// what the mutex guarantees: all that happened in one lock body happened before the next.
package struct Locked<Value: ~Copyable>: ~Copyable {
    private let mutex: Mutex<Value>
    #if THREAD_SANITIZER
    private let handover = Atomic<Bool>(false)
    #endif

    package init(_ value: consuming sending Value) {
        self.mutex = Mutex(value)
    }

    @inline(__always)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        #if THREAD_SANITIZER
        return try mutex.withLock {
            (value: inout sending Value) throws(Failure) -> sending Result in
            _ = handover.load(ordering: .acquiring)
            defer { handover.store(true, ordering: .releasing) }
            return try body(&value)
        }
        #else
        return try mutex.withLock(body)
        #endif
    }
}

extension Locked: Sendable where Value: ~Copyable {}
