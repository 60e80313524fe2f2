import OperationsRuntime

/// An announcement of a change whose new value is not known.
enum Announcement {
    /// The property may have changed. Observers are notified if it has.
    case possible
    /// The same as `possible`, and a subclass is expected to announce the change next.
    case early
    /// A subclass announces that the property has changed. Observers are notified in any case, as
    /// by key-value observing on Apple's systems.
    case unconditional
}

/// Brings one change to observers. Also keeps the values that must be released without the lock.
typealias ObservedDelivery<Object> = (Object) -> Void

/// The values and the observers of one observed property of one object.
///
/// All of it is guarded by the lock of the object's `Observations`, except for
/// `resolver(reading:)`.
protocol ObservedChannel<Object>: AnyObject {
    associatedtype Object: ObservedObject

    /// Whether observers have been notified, or are about to be notified, of the change that a
    /// subclass announces next.
    var expectsAnnouncement: Bool { get set }

    /// Records the announcement of a change whose value is not known.
    func announce(_ announcement: Announcement)

    /// Reads the property, with no lock held, if it must be read.
    ///
    /// - Returns: A function that turns the oldest record into a delivery. It is called with the
    ///   lock held and released without the lock. It returns nil if there is no record.
    func resolver(reading object: Object) -> () -> ObservedDelivery<Object>?
}

final class TypedChannel<Object: ObservedObject, Value: Sendable>: ObservedChannel {
    private enum Record {
        case value(Value)
        case announced(Announcement)
    }

    private let property: ObservedProperty<Object, Value>
    var observers = TicketList<Observer<Object, Value>>()
    var expectsAnnouncement = false
    /// The value that observers were notified of last, or are about to be.
    private(set) var current: Value
    /// The value after all records.
    private var latest: Value
    private var records = FIFO<Record>()

    init(_ property: ObservedProperty<Object, Value>, current: Value) {
        self.property = property
        self.current = current
        self.latest = current
    }

    func record(_ value: Value) {
        records.append(.value(value))
        latest = value
    }

    func record(_ change: (Value) -> Value) { record(change(latest)) }

    func announce(_ announcement: Announcement) { records.append(.announced(announcement)) }

    func resolver(reading object: Object) -> () -> ObservedDelivery<Object>? {
        let reading: Value? = property.isRead ? object[keyPath: property.keyPath] : nil
        return { [self] in takeRecord(reading) }
    }

    private func takeRecord(_ reading: Value?) -> ObservedDelivery<Object>? {
        guard let record = records.popFirst() else { return nil }
        // If the property's value differs from the last one that the class itself recorded, a
        // subclass overrides the property.
        let isOverridden = reading.map { !property.isSame($0, latest) } ?? false
        let (old, garbage) = (current, (record, latest))
        let new: Value
        var isNotified = false
        switch record {
        case .announced(let announcement):
            new = reading ?? latest
            if announcement == .unconditional {
                isNotified = !expectsAnnouncement
                expectsAnnouncement = false
            }
        case .value(let recorded):
            new = isOverridden ? reading ?? recorded : recorded
            isNotified = property.notifiesEach
        }
        guard isNotified || !property.isSame(old, new) else {
            return { _ in withExtendedLifetime(garbage) {} }
        }
        if case .announced(.early) = record { expectsAnnouncement = true }
        current = new
        if isOverridden { latest = new }
        return { [observers = observers.elements] object in
            for observer in observers { observer.notify(object, old: old, new: new) }
            withExtendedLifetime(garbage) {}
        }
    }
}
