/// The values of one observed property of one object, and who is told of them.
///
/// Guarded by the lock of the object's `Observations`, but for `reading(of:)`.
class ObservedChannel<Object: AnyObject> {
    /// What was said about a property of which the value is not known.
    enum Announcement {
        /// It may have changed. Told if it has.
        case possible
        /// The same, and a subclass is expected to say so next.
        case early
        /// A subclass says that it has changed. Told in any case, as by key-value observing on Apple's systems.
        case said
    }

    let id: Int
    /// Whether observers have heard, or are about to hear, what a subclass says next.
    var isSaidNext = false

    init(id: Int) { self.id = id }

    var isObserved: Bool { fatalError("unreachable: subclasses say") }

    /// A change was announced whose value is not known.
    func announce(_ announcement: Announcement) { fatalError("unreachable: subclasses do it") }

    /// Reads the property, with no lock held; what is returned is to be called with the lock.
    func reading(of object: Object) -> (() -> Void)? {
        fatalError("unreachable: subclasses do it")
    }

    /// Turns the oldest record into what is to be told.
    ///
    /// - Parameter garbage: gets what must be let go of outside the lock.
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
    /// The value that observers were told last, or are about to be.
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
        guard property.isAsked else { return nil }
        let value = object[keyPath: property.keyPath]
        return { [self] in reading = value }
    }

    override func forgetReading() { reading = nil }

    override func takeRecord(_ garbage: inout [Any]) -> ObservedDelivery<Object>? {
        // If the property does not say what the class itself recorded, a subclass answers for it.
        let isOverridden = reading.map { !property.isSame($0, latest) } ?? false
        let value: Value
        var isNotified = false
        let record = records.popFirst()
        switch record {
        case .none: return nil
        case .announced(let announcement):
            value = reading ?? latest
            if announcement == .said {
                isNotified = !isSaidNext
                isSaidNext = false
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
        if case .announced(.early) = record { isSaidNext = true }
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
        for observer in observers { observer.tell(object, old: old, new: new) }
    }
}
