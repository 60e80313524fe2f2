public import Synchronization

/// A value that is only accessed with its mutex held.
///
/// The mutex is `Synchronization.Mutex`. On Linux the thread sanitizer does not see the operations
/// of that mutex, because the mutex is built into the runtime. So builds for the sanitizer
/// (`-DTHREAD_SANITIZER`) also express the guarantee of the mutex with an atomic: everything in one
/// lock body happens before the next lock body.
@usableFromInline
package struct Locked<Value: ~Copyable>: ~Copyable {
    @usableFromInline let mutex: Mutex<Value>
    #if THREAD_SANITIZER
    @usableFromInline let handover = Atomic<Bool>(false)
    #endif

    @inlinable
    package init(_ value: consuming sending Value) {
        self.mutex = Mutex(value)
    }

    @inlinable
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

extension Locked where Value: Sendable {
    /// Sets the value, and releases the previous one without the lock: that may be the last
    /// reference to anything, whose `deinit` may do anything.
    @inlinable
    package borrowing func replace(with new: Value) {
        var new = new
        withLock { swap(&$0, &new) }
    }

    /// Sets a part of the value, as ``replace(with:)`` does. A function must be in a structure,
    /// because each access by a key path would wrap it in further thunks.
    @inlinable
    package borrowing func replace<Part: Sendable>(
        _ part: WritableKeyPath<Value, Part>, with new: Part
    ) {
        var new = new
        withLock { swap(&$0[keyPath: part], &new) }
    }
}

extension Locked: Sendable where Value: ~Copyable {}
