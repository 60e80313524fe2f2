/// Key-value observing as queues need it: a subclass with state of its own announces its changes.
///
/// A key may be a key path or either spelling of the name ("isFinished" or "finished").
extension Operation {
    /// Announces that a property is about to change.
    ///
    /// This library does not need the call: the announcement of the change gives observers both
    /// values.
    public func willChangeValue(forKey key: String) {}

    /// Announces that a property has changed; the queue and observers read it anew.
    ///
    /// - `isFinished`: if it is now true the operation is over, whether or not a queue had started
    ///   it.
    /// - `isReady`: if it is now true the operation's queue may start it.
    /// - Other observable keys concern only observers.
    ///
    /// Each announcement notifies observers, even if the value is the same as before.
    ///
    /// A key that the class does not know, such as `state`, may be a key that others depend on
    /// (`keyPathsForValuesAffectingIsReady()` on Apple's systems). Its announcement is therefore
    /// one of `isCancelled`, `isReady`, `isExecuting` and `isFinished` too: the queue reads
    /// `isReady` and `isFinished` anew, and observers of each of the four are notified, in this
    /// order. An end that the announcement brings about is notified once, and before the others.
    public func didChangeValue(forKey key: String) {
        changed(OperationProperties.find(key))
    }

    /// Announces that a property is about to change.
    ///
    /// This library does not need the call: the announcement of the change gives observers both
    /// values.
    public func willChangeValue<Value>(for keyPath: KeyPath<Operation, Value>) {}

    /// Announces that a property has changed; the queue and observers read it anew.
    ///
    /// As ``didChangeValue(forKey:)``, for all properties that can be observed.
    public func didChangeValue<Value>(for keyPath: KeyPath<Operation, Value>) {
        changed(Self.property(at: keyPath))
    }

    /// Reads a property anew, or all that may depend on a property that this class does not know.
    fileprivate func changed(_ property: (any AnyObservedProperty)?) {
        let id = property?.id
        if id == nil || id == OperationProperties.isFinished.id { finishIfReported() }
        if id == nil || id == OperationProperties.isReady.id {
            transition { $0.readinessAnnounced() }
        }
        if let property { return announce(property, as: .unconditional) }
        announce(OperationProperties.isCancelled, as: .unconditional)
        announce(OperationProperties.isReady, as: .unconditional)
        announce(OperationProperties.isExecuting, as: .unconditional)
        announce(OperationProperties.isFinished, as: .unconditional)
    }
}

extension KeyValueObserving where Self: Operation {
    /// Announces that a property of a subclass is about to change; see
    /// ``Operation/willChangeValue(forKey:)``.
    @_disfavoredOverload
    public func willChangeValue<Value>(for keyPath: KeyPath<Self, Value>) {}

    /// Announces that a property of a subclass has changed, such as `\.state`; see
    /// ``Operation/didChangeValue(forKey:)``.
    @_disfavoredOverload
    public func didChangeValue<Value>(for keyPath: KeyPath<Self, Value>) {
        changed(Self.ownProperty(at: keyPath))
    }
}
