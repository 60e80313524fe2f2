import OperationsRuntime

/// All observations of one object: a mailbox of changes.
///
/// Changes are **recorded** in the hold of the lock in which they are made, so records have the
/// order of the changes. Records are **resolved**, in that order, to the changes that observers
/// get: this step reads properties that a subclass may override. Resolved changes are **delivered**
/// by one thread at a time. A thread that has made a change calls `notifyObservers()` once it holds
/// no lock; `notifyObservers()` resolves and delivers.
///
/// The lock comes last in the lock order, and no user code is called with it held.
///
/// Unchecked: everything that changes is guarded by the lock.
final class Observations<Object: ObservedObject>: @unchecked Sendable {
    private let lock = SpinLock()
    /// The observed object, set once. Weak, because changes may be delivered while the object is
    /// going away.
    private weak var object: Object?
    private var channels: [Int: any ObservedChannel<Object>] = [:]
    /// The channels of the records that are not resolved yet, in the order of the records.
    private var recorded: [any ObservedChannel<Object>] = []
    /// The number of recorded changes that may be resolved; nil for all.
    private var limit: Int?
    /// A number that rises with each record, even if nobody observes the property. Only
    /// `record(_:change:)` does not raise it: properties that are recorded that way are never read.
    private var version = 0
    private var deliveries = FIFO<ObservedDelivery<Object>>()
    private var isDelivering = false

    init(_ object: Object) { self.object = object }

    // MARK: Recording

    /// Makes changes and records them in one hold of the lock.
    func record<Result>(_ body: () -> Result) -> Result { lock.withLock(body) }

    /// Records the new value of a property, which is made only if somebody observes the property.
    /// The lock is held.
    func recordLocked<Value>(
        _ property: ObservedProperty<Object, Value>, _ value: @autoclosure () -> Value
    ) {
        version += 1
        guard let channel = channel(of: property) else { return }
        channel.record(value())
        recorded.append(channel)
    }

    func record<Value>(
        _ property: ObservedProperty<Object, Value>, _ value: @autoclosure () -> Value
    ) {
        lock.withLock { recordLocked(property, value()) }
    }

    /// Records a new value, made from the value after the last record. `change` is not called if
    /// nobody observes the property.
    func record<Value>(
        _ property: ObservedProperty<Object, Value>, change: (Value) -> Value
    ) {
        lock.withLock {
            guard let channel = channel(of: property) else { return }
            channel.record(change)
            recorded.append(channel)
        }
    }

    /// Records the announcement of a property's change. The lock is held.
    func announceLocked(_ id: Int, as announcement: Announcement = .possible) {
        version += 1
        guard let channel = channels[id] else { return }
        channel.announce(announcement)
        recorded.append(channel)
    }

    /// Expects that a subclass announces the change of a property that is recorded next, so that
    /// observers are notified of it only once. The lock is held.
    func expectAnnouncementLocked(_ id: Int) { channels[id]?.expectsAnnouncement = true }

    /// Holds back all changes recorded from here on until `release()`. The lock is held.
    func holdLocked() { if limit == nil { limit = recorded.count } }

    func release() { lock.withLock { limit = nil } }

    private func channel<Value>(
        of property: ObservedProperty<Object, Value>
    ) -> TypedChannel<Object, Value>? {
        channels[property.id].map { unsafeDowncast($0, to: TypedChannel<Object, Value>.self) }
    }

    // MARK: Notifying

    /// Notifies observers of the recorded changes.
    ///
    /// By the time this method returns, the observers have been notified, or another thread, or a
    /// caller further up on this thread, is about to notify them.
    func notifyObservers() {
        guard let object else { return }
        resolve(object)
        let isOurs = lock.withLock {
            guard !isDelivering, !deliveries.isEmpty else { return false }
            isDelivering = true
            return true
        }
        guard isOurs else { return }
        while let deliver = nextDelivery() { deliver(object) }
    }

    private func nextDelivery() -> ObservedDelivery<Object>? {
        lock.withLock {
            let next = deliveries.popFirst()
            if next == nil { isDelivering = false }
            return next
        }
    }

    /// Turns records into deliveries.
    private func resolve(_ object: Object) {
        while true {
            // A copy with its own memory. An `Array` of all records would share the memory of
            // `recorded` until the end of the loop, and another thread that then finds the memory
            // unshared changes it in place. That is right, but the thread sanitizer does not see
            // that the runtime's reference count passes the memory on, and reports a race.
            let (channels, version) = lock.withLock { (resolvable.map { $0 }, self.version) }
            if channels.isEmpty { return }
            var resolvers: [ObjectIdentifier: () -> ObservedDelivery<Object>?] = [:]
            for channel in channels where resolvers[ObjectIdentifier(channel)] == nil {
                resolvers[ObjectIdentifier(channel)] = channel.resolver(reading: object)
            }
            lock.withLock {
                // A value that was read while another thread recorded a change may never have been
                // the property's value.
                if version == self.version { takeRecords(resolvers) }
            }
            withExtendedLifetime(resolvers) {}
        }
    }

    /// The channels of the records that may be resolved.
    private var resolvable: ArraySlice<any ObservedChannel<Object>> {
        recorded.prefix(limit ?? recorded.count)
    }

    /// Takes the records up to the first record of a channel that was not read.
    private func takeRecords(
        _ resolvers: [ObjectIdentifier: () -> ObservedDelivery<Object>?]
    ) {
        var count = 0
        for channel in resolvable {
            guard let resolve = resolvers[ObjectIdentifier(channel)] else { break }
            if let delivery = resolve() { deliveries.append(delivery) }
            count += 1
        }
        recorded.removeFirst(count)
        limit? -= count
    }

    // MARK: Observers

    /// Adds an observer and returns the value before all changes that the observer gets, which are
    /// the changes recorded from here on.
    func add<Value>(
        _ observer: Observer<Object, Value>, to property: ObservedProperty<Object, Value>,
        of object: Object
    ) -> Value {
        while true {
            resolve(object)
            let version = lock.withLock {
                object.beginRecording()
                return self.version
            }
            let reading = object[keyPath: property.keyPath]
            let initial: Value? = lock.withLock {
                if channels[property.id] == nil, self.version != version { return nil }
                return addLocked(observer, to: property, current: reading)
            }
            if let initial { return initial }
        }
    }

    /// Adds an observer when the current value is known, because the caller keeps the property from
    /// changing.
    func add<Value>(
        _ observer: Observer<Object, Value>, to property: ObservedProperty<Object, Value>,
        current: Value
    ) -> Value {
        lock.withLock { addLocked(observer, to: property, current: current) }
    }

    private func addLocked<Value>(
        _ observer: Observer<Object, Value>, to property: ObservedProperty<Object, Value>,
        current: Value
    ) -> Value {
        let channel = channel(of: property) ?? TypedChannel(property, current: current)
        channels[property.id] = channel
        observer.ticket = channel.observers.append(observer)
        return channel.current
    }

    /// Removes an observer.
    func remove<Value>(
        _ observer: Observer<Object, Value>, from property: ObservedProperty<Object, Value>
    ) {
        observer.end()
        let object = object
        var unobserved: TypedChannel<Object, Value>?
        lock.withLock {
            guard let channel = channel(of: property), let ticket = observer.ticket.take(),
                channel.observers.remove(ticket) != nil, channel.observers.isEmpty
            else { return }
            unobserved = channel
            channels[property.id] = nil
            limit = limit.map { recorded.prefix($0).count { $0 !== channel } }
            recorded.removeAll { $0 === channel }
            if channels.isEmpty, let object {
                object.endRecording()
                // Another thread may be adding an observer and rely on the recording that has just
                // ended. The new version makes it begin again.
                version += 1
            }
        }
        // The channel's values are released here, without the lock.
        withExtendedLifetime((object, unobserved)) {}
    }

    /// Returns whether one of these properties is observed.
    func observesAny(of ids: [Int]) -> Bool {
        lock.withLock { ids.contains { channels[$0] != nil } }
    }
}
