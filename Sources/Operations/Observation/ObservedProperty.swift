/// A property that can be observed.
protocol AnyObservedProperty: Sendable {
    /// A number that differs from the ids of the object's other properties.
    var id: Int { get }
    /// The keys by which changes of the property can be announced.
    var keys: [String] { get }
    var anyKeyPath: AnyKeyPath { get }
}

struct ObservedProperty<Object: AnyObject, Value: Sendable>: AnyObservedProperty {
    let id: Int
    let keys: [String]
    let keyPath: any KeyPath<Object, Value> & Sendable
    /// Whether subclasses may override the property. If so, the property is read when it may have
    /// changed, and the value read is the one that observers get.
    var isRead = true
    /// Whether observers are notified of each change of the class's own value, even if an override
    /// returns the same value before and after it.
    var notifiesEach = false
    let isSame: @Sendable (Value, Value) -> Bool

    var anyKeyPath: AnyKeyPath { keyPath }
}

extension ObservedProperty where Value: Equatable {
    init(
        _ id: Int, _ keys: String..., at keyPath: any KeyPath<Object, Value> & Sendable,
        isRead: Bool = true, notifiesEach: Bool = false
    ) {
        self.init(
            id: id, keys: keys, keyPath: keyPath, isRead: isRead, notifiesEach: notifiesEach
        ) { $0 == $1 }
    }
}
