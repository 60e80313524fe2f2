/// Options of an observation. Names and values are those of Foundation.
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
}

/// The way in which a property changed.
public enum KeyValueChange: UInt, Sendable {
    /// The property has another value.
    case setting = 1
}

/// One change of an observed property.
public struct KeyValueObservedChange<Value> {
    /// The type of ``kind``.
    public typealias Kind = KeyValueChange

    /// The way in which the property changed. Operations, queues and progresses know one way.
    public let kind: Kind
    /// The value after the change, if ``KeyValueObservingOptions/new`` is among the options.
    public let newValue: Value?
    /// The value before the change, if ``KeyValueObservingOptions/old`` is among the options; nil
    /// in the initial call.
    public let oldValue: Value?
}

extension KeyValueObservedChange: Sendable where Value: Sendable {}

// Foundation on Linux lacks these names. Where Foundation has them, a second set would only be
// ambiguous.
#if !canImport(ObjectiveC)
/// Foundation's name of ``KeyValueObservingOptions``.
public typealias NSKeyValueObservingOptions = KeyValueObservingOptions
/// Foundation's name of ``KeyValueObservedChange``.
public typealias NSKeyValueObservedChange = KeyValueObservedChange
/// Foundation's name of ``KeyValueObservation``.
public typealias NSKeyValueObservation = KeyValueObservation
#endif
