/// One observer of one property.
///
/// Its handler is called by one thread at a time: by the one that begins the observation until the initial
/// call has returned, then by whoever delivers the object's changes. What comes during the initial call
/// waits in the backlog.
///
/// Unchecked: what changes is guarded by the lock.
final class Observer<Object: AnyObject, Value>: @unchecked Sendable {
    typealias Handler = @Sendable (Object, KeyValueObservedChange<Value>) -> Void

    private let options: KeyValueObservingOptions
    private let lock = SpinLock()
    /// Nil when the observation has ended.
    private var handler: Handler?
    /// Its ticket in the list of its channel, while it is there; guarded by the lock of the `Observations`.
    var ticket: TicketList<Observer>.Ticket?
    /// Nil when the initial call is over.
    private var backlog: [(old: Value, new: Value)]? = []

    init(options: KeyValueObservingOptions, handler: @escaping Handler) {
        self.options = options
        self.handler = handler
    }

    /// Makes the initial call, if one is wanted, and those for what has changed meanwhile.
    func begin(_ object: Object, initial: Value) {
        if options.contains(.initial) {
            call(object, old: nil, new: initial, isPrior: false)
        }
        while let changes = takeBacklog() {
            for change in changes { notifyNow(object, old: change.old, new: change.new) }
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

    func tell(_ object: Object, old: Value, new: Value) {
        let mustWait = lock.withLock {
            guard backlog != nil else { return false }
            backlog?.append((old, new))
            return true
        }
        if !mustWait { notifyNow(object, old: old, new: new) }
    }

    private func notifyNow(_ object: Object, old: Value, new: Value) {
        if options.contains(.prior) { call(object, old: old, new: nil, isPrior: true) }
        call(object, old: old, new: new, isPrior: false)
    }

    private func call(_ object: Object, old: Value?, new: Value?, isPrior: Bool) {
        guard let handler = lock.withLock({ handler }) else { return }
        handler(
            object,
            KeyValueObservedChange(
                kind: .setting,
                newValue: options.contains(.new) ? new : nil,
                oldValue: options.contains(.old) ? old : nil,
                isPrior: isPrior))
    }

    /// No call is begun any more.
    func end() {
        // Let go of outside the lock: a handler can hold the last reference to anything.
        let previous = lock.withLock {
            defer {
                handler = nil
                if backlog != nil { backlog = [] }
            }
            return (handler, backlog)
        }
        withExtendedLifetime(previous) {}
    }
}
