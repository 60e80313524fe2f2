/// What an observer wants to be told; the names and values are Foundation's.
public struct KeyValueObservingOptions: OptionSet, Sendable {
    /// The combined values.
    public let rawValue: UInt

    /// Combines raw values.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Each change carries the value after it.
    public static let new = KeyValueObservingOptions(rawValue: 1)
    /// Each change carries the value before it.
    public static let old = KeyValueObservingOptions(rawValue: 2)
    /// The handler is also called once before `observe` returns, with the value at that moment.
    public static let initial = KeyValueObservingOptions(rawValue: 4)
    /// The handler is called twice for each change; the first call says ``KeyValueObservedChange/isPrior``.
    public static let prior = KeyValueObservingOptions(rawValue: 8)
}

/// In what way a property changed.
public enum KeyValueChange: UInt, Sendable {
    /// It has another value.
    case setting = 1
}

/// One change of an observed property.
public struct KeyValueObservedChange<Value> {
    /// The type of ``kind``.
    public typealias Kind = KeyValueChange

    /// In what way it changed; operations and queues know one way.
    public let kind: Kind
    /// The value after the change, if ``KeyValueObservingOptions/new`` was asked for; nil in a prior call.
    public let newValue: Value?
    /// The value before the change, if ``KeyValueObservingOptions/old`` was asked for; nil in the initial
    /// call.
    public let oldValue: Value?
    /// Whether this call announces the change, and the one for the change itself comes next.
    ///
    /// The property may have its new value already, since other threads change it too.
    public let isPrior: Bool
}

extension KeyValueObservedChange: Sendable where Value: Sendable {}

// On Linux Foundation lacks these names. Where it has them, two of each would only be ambiguous.
#if !canImport(ObjectiveC)
/// Foundation's name of ``KeyValueObservingOptions``.
public typealias NSKeyValueObservingOptions = KeyValueObservingOptions
/// Foundation's name of ``KeyValueObservedChange``.
public typealias NSKeyValueObservedChange = KeyValueObservedChange
/// Foundation's name of ``KeyValueObservation``.
public typealias NSKeyValueObservation = KeyValueObservation
#endif
