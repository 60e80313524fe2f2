/// An observation that goes on for as long as this object is kept, or until it is invalidated.
///
/// It does not keep the observed object.
public final class KeyValueObservation: Sendable {
    private let end: @Sendable () -> Void

    init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }

    /// Ends the observation; can be called from any thread, from the handler, and again.
    ///
    /// Once it has returned, no call of the handler is begun. A call that another thread had begun by
    /// then goes on to its end, and this method does not wait for it: waiting could block two threads
    /// for ever. From inside the handler it is the last call.
    public func invalidate() { end() }
}

/// What can be observed by key paths: operations and queues.
public protocol KeyValueObserving: AnyObject {}
