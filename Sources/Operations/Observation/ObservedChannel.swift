/// The values and the observers of one observed property of one object.
///
/// All of it is guarded by the lock of the object's `Observations`, except for `reading(of:)`.
class ObservedChannel<Object: AnyObject> {
    /// An announcement of a change whose new value is not known.
    enum Announcement {
        /// The property may have changed. Observers are notified if it has.
        case possible
        /// The same as `possible`, and a subclass is expected to announce the change next.
        case early
        /// A subclass announces that the property has changed. Observers are notified in any case,
        /// as by key-value observing on Apple's systems.
        case unconditional
    }

    let id: Int
    /// Whether observers have been notified, or are about to be notified, of the change that a
    /// subclass announces next.
    var expectsAnnouncement = false

    init(id: Int) { self.id = id }

    var isObserved: Bool { fatalError("unreachable: subclasses say") }

    /// Records the announcement of a change whose value is not known.
    func announce(_ announcement: Announcement) { fatalError("unreachable: subclasses do it") }

    /// Reads the property, with no lock held, and returns a closure to be called with the lock
    /// held; nil if the property need not be read.
    func reading(of object: Object) -> (() -> Void)? {
        fatalError("unreachable: subclasses do it")
    }

    /// Turns the oldest record into a change to be delivered; returns nil if there is none.
    ///
    /// - Parameter garbage: gets the values that must be released outside the lock.
    func takeRecord(_ garbage: inout [Any]) -> ObservedDelivery<Object>? {
        fatalError("unreachable: subclasses do it")
    }

    func forgetReading() { fatalError("unreachable: subclasses do it") }
}

final class TypedChannel<Object: AnyObject, Value: Sendable>: ObservedChannel<Object> {
    private enum Record {
        case value(Value)
        case announced(Announcement)
    }

    private let property: ObservedProperty<Object, Value>
    var observers = TicketList<Observer<Object, Value>>()
    /// The value that observers were notified of last, or are about to be.
    private(set) var current: Value
    /// The value after all records.
    private var latest: Value
    private var records = FIFO<Record>()
    private var reading: Value?

    init(_ property: ObservedProperty<Object, Value>, current: Value) {
        self.property = property
        self.current = current
        self.latest = current
        super.init(id: property.id)
    }

    override var isObserved: Bool { !observers.isEmpty }

    func record(_ value: Value) {
        records.append(.value(value))
        latest = value
    }

    func record(_ change: (Value) -> Value) { record(change(latest)) }

    override func announce(_ announcement: Announcement) {
        records.append(.announced(announcement))
    }

    override func reading(of object: Object) -> (() -> Void)? {
        guard property.isRead else { return nil }
        let value = object[keyPath: property.keyPath]
        return { [self] in reading = value }
    }

    override func forgetReading() { reading = nil }

    override func takeRecord(_ garbage: inout [Any]) -> ObservedDelivery<Object>? {
        // If the property's value differs from the last one that the class itself recorded, a
        // subclass overrides the property.
        let isOverridden = reading.map { !property.isSame($0, latest) } ?? false
        let value: Value
        var isNotified = false
        let record = records.popFirst()
        switch record {
        case .none: return nil
        case .announced(let announcement):
            value = reading ?? latest
            if announcement == .unconditional {
                isNotified = !expectsAnnouncement
                expectsAnnouncement = false
            }
        case .value(let recorded):
            value = isOverridden ? reading ?? recorded : recorded
            isNotified = property.notifiesEach
            garbage.append(recorded)
        }
        let isSame = property.isSame(current, value)
        guard isNotified || !isSame else {
            garbage.append(value)
            return nil
        }
        if case .announced(.early) = record { expectsAnnouncement = true }
        defer {
            current = value
            if isOverridden { latest = value }
        }
        return TypedDelivery(observers: observers.elements, old: current, new: value)
    }
}

/// One change on its way to observers.
class ObservedDelivery<Object: AnyObject> {
    func deliver(to object: Object) { fatalError("unreachable: subclasses do it") }
}

private final class TypedDelivery<Object: AnyObject, Value>: ObservedDelivery<Object> {
    private let observers: [Observer<Object, Value>]
    private let old: Value
    private let new: Value

    init(observers: [Observer<Object, Value>], old: Value, new: Value) {
        self.observers = observers
        self.old = old
        self.new = new
    }

    override func deliver(to object: Object) {
        for observer in observers { observer.notify(object, old: old, new: new) }
    }
}
