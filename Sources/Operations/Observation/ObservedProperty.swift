/// A property that can be observed.
protocol AnyObservedProperty: Sendable {
    /// Small, and different from those of the object's other properties.
    var id: Int { get }
    /// The names by which its changes can be announced.
    var keys: [String] { get }
    var anyKeyPath: AnyKeyPath { get }
}

struct ObservedProperty<Object: AnyObject, Value: Sendable>: AnyObservedProperty {
    let id: Int
    let keys: [String]
    let keyPath: any KeyPath<Object, Value> & Sendable
    /// Whether subclasses may answer for it: then the property is read when it may have changed, and what
    /// it says counts.
    var isAsked = true
    /// Whether each change of what the class itself says is told, also where an override says the same before
    /// and after it.
    var notifiesEach = false
    let isSame: @Sendable (Value, Value) -> Bool

    var anyKeyPath: AnyKeyPath { keyPath }
}

extension ObservedProperty where Value: Equatable {
    init(
        _ id: Int, _ keys: String..., at keyPath: any KeyPath<Object, Value> & Sendable,
        isAsked: Bool = true, notifiesEach: Bool = false
    ) {
        self.init(
            id: id, keys: keys, keyPath: keyPath, isAsked: isAsked, notifiesEach: notifiesEach
        ) { $0 == $1 }
    }
}
