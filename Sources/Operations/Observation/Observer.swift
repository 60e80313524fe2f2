import OperationsRuntime

/// One observer of one property.
///
/// The handler is called by one thread at a time: by the thread that begins the observation until
/// the initial call has returned, and then by the threads that deliver the object's changes.
/// Changes that come during the initial call wait in the backlog.
///
/// Unchecked: everything that changes is guarded by the lock.
final class Observer<Object: AnyObject, Value>: @unchecked Sendable {
    typealias Handler = @Sendable (Object, KeyValueObservedChange<Value>) -> Void

    private let options: KeyValueObservingOptions
    private let lock = SpinLock()
    /// The handler; nil once the observation has ended.
    private var handler: Handler?
    /// The observer's ticket in the list of its channel, while the observer is in it; guarded by
    /// the lock of the `Observations`.
    var ticket: TicketList<Observer>.Ticket?
    /// The changes that wait for the end of the initial call; nil once that is over.
    private var backlog: [(old: Value, new: Value)]? = []

    init(options: KeyValueObservingOptions, handler: @escaping Handler) {
        self.options = options
        self.handler = handler
    }

    /// Makes the initial call, if the options ask for it, and then the calls for the changes that
    /// came during it.
    func begin(_ object: Object, initial: Value) {
        if options.contains(.initial) { call(object, old: nil, new: initial) }
        while let changes = takeBacklog() {
            for change in changes { call(object, old: change.old, new: change.new) }
        }
    }

    private func takeBacklog() -> [(old: Value, new: Value)]? {
        lock.withLock {
            let changes = backlog
            let isLast = changes?.isEmpty ?? true
            backlog = isLast ? nil : []
            return isLast ? nil : changes
        }
    }

    func notify(_ object: Object, old: Value, new: Value) {
        let mustWait = lock.withLock {
            guard backlog != nil else { return false }
            backlog?.append((old, new))
            return true
        }
        if !mustWait { call(object, old: old, new: new) }
    }

    private func call(_ object: Object, old: Value?, new: Value) {
        // The result of the generic function would be the handler wrapped in a thunk.
        var current: Handler?
        lock.withLock { current = handler }
        guard let current else { return }
        current(
            object,
            KeyValueObservedChange(
                kind: .setting,
                newValue: options.contains(.new) ? new : nil,
                oldValue: options.contains(.old) ? old : nil))
    }

    /// Ends the observation: no further call of the handler begins.
    func end() {
        // The handler is released outside the lock: it can hold the last reference to anything.
        var ended: Handler?
        let previous = lock.withLock {
            ended = handler
            handler = nil
            defer { if backlog != nil { backlog = [] } }
            return backlog
        }
        withExtendedLifetime((ended, previous)) {}
    }
}
