/// An observation that goes on for as long as this object is kept, or until it is invalidated.
///
/// The observation does not keep the observed object.
public final class KeyValueObservation: Sendable {
    private let end: @Sendable () -> Void

    init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }

    /// Ends the observation; can be called from any thread, from the handler, and repeatedly.
    ///
    /// Once this method has returned, no call of the handler begins. A call that another thread had
    /// begun by then goes on to its end, and this method does not wait for it: waiting could block
    /// two threads for ever. If the handler itself calls this method, that call of the handler is
    /// the last one.
    public func invalidate() { end() }
}

/// An object whose properties can be observed by key paths: an operation, a queue or a progress.
public protocol KeyValueObserving: AnyObject {}
