#if DurableJobs
/// What a worker provides to the jobs that it runs, such as a client of a service; one value of
/// each type.
///
/// The arguments of a job are stored, and the values are not: each worker has its own.
///
/// ```swift
/// var options = JobWorker.Options()
/// options.values.provide(MailServer(host: "localhost"))
/// // in a job:
/// let server = try context.provided(MailServer.self)
/// ```
public struct JobValues: Sendable {
    private var values: [ObjectIdentifier: any Sendable] = [:]

    /// Makes an empty collection.
    public init() {}

    /// Adds a value, in place of an earlier one of the same type.
    public mutating func provide<Value: Sendable>(_ value: Value) {
        values[ObjectIdentifier(Value.self)] = value
    }

    /// Returns the value of a type; nil if there is none.
    public func value<Value: Sendable>(_ type: Value.Type) -> Value? {
        values[ObjectIdentifier(type)] as? Value
    }
}
#endif
