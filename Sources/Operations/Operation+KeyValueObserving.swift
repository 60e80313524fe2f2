/// Key-value observing as queues need it: a subclass that keeps its own state says when it changes.
///
/// Both spellings of a key are understood ("isFinished" and "finished"), and key paths too.
extension Operation {
    /// Announces that a property is about to change.
    ///
    /// Needed by nobody here: observers are told both values when the change is announced.
    public func willChangeValue(forKey key: String) {}

    /// Announces that a property has changed; the queue and observers read it anew.
    ///
    /// `isFinished`: if it is now true the operation is over, whether or not a queue had started it.
    /// `isReady`: if it is now true and nothing else holds it back, its queue may start it. Other keys
    /// matter to observers only. A false alarm is harmless, and told to nobody.
    public func didChangeValue(forKey key: String) {
        switch key {
        case "isFinished", "finished": finishIfReported()
        case "isReady", "ready": considerStarting()
        default: break
        }
        announce { $0.keys.contains(key) }
    }

    /// Announces that a property is about to change.
    ///
    /// Needed by nobody here: observers are told both values when the change is announced.
    public func willChangeValue<Value>(for keyPath: KeyPath<Operation, Value>) {}

    /// Announces that a property has changed; the queue and observers read it anew.
    ///
    /// As ``didChangeValue(forKey:)``, for all properties that can be observed.
    public func didChangeValue<Value>(for keyPath: KeyPath<Operation, Value>) {
        if keyPath == \Operation.isFinished {
            finishIfReported()
        } else if keyPath == \Operation.isReady {
            considerStarting()
        }
        announce { $0.anyKeyPath == keyPath }
    }
}
