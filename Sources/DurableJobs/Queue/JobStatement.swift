#if DurableJobs
import OperationsRuntime

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A statement of SQL that stores jobs, for any client of the queue's database.
///
/// ```swift
/// let statement = try jobs.statement(toEnqueue: SendReceipt(order: 7), .retry(3))
/// try await client.query(statement.text, statement.parameters)    // in your transaction
/// ```
public struct JobStatement: Sendable, Hashable {
    /// The statement, with the placeholders of its database: `$1`, `$2` and so on for PostgreSQL,
    /// and `?1`, `?2` and so on for SQLite.
    public let text: String
    /// The values of the placeholders, in their order. All are texts, which the statement converts;
    /// nil is NULL.
    public let parameters: [String?]

    package init(text: String, parameters: [String?]) {
        (self.text, self.parameters) = (text, parameters)
    }
}

extension JobQueue {
    /// Returns a statement that stores a job of this queue, and whose one row and column is the
    /// number of the job, or of the unfinished one with the same unique key. Nothing is stored
    /// before your client has executed the statement.
    ///
    /// Execute it in a transaction of your own, so that the job exists if and only if the
    /// transaction is committed. The workers learn of the job at the commit. Times such as that of
    /// ``JobTrait/delay(_:)`` count from the execution. With the module `DurableJobFiles`, a
    /// completed job whose attachment is still in the store is not joined.
    ///
    /// - Parameters:
    ///   - job: the work and its arguments.
    ///   - traits: further settings of the job. On SQLite, ``JobTrait/unique(by:for:)``,
    ///     ``JobTrait/joining(_:)`` and ``JobTrait/group(_:)`` need several statements, and are
    ///     refused: use `enqueue(_:_:after:in:)`.
    /// - Throws: ``JobError`` if the arguments are too large, or a trait makes no sense.
    public func statement<J: Job>(
        toEnqueue job: J, _ traits: JobTrait...
    ) throws -> JobStatement {
        let job = try newJob(job, try JobOptions(traits, of: J.self))
        return try store.database.statement(job, [job.arguments], isArray: false, in: name)
    }

    /// Returns a statement that stores jobs with the same traits, and that has a row for each, in
    /// their order; see ``statement(toEnqueue:_:)-(J,_)``.
    public func statement<J: Job>(
        toEnqueue jobs: [J], _ traits: JobTrait...
    ) throws -> JobStatement {
        try JobCoding.check(name: J.name)
        let options = try JobOptions(traits, of: J.self)
        let first = NewJob(
            name: J.name, version: J.version, arguments: Data(), options: options,
            trace: observer.withLock { $0 }?.traceOfNewJob())
        return try store.database.statement(
            first, try jobs.map { try JobCoding.arguments(of: $0) }, isArray: true, in: name)
    }
}

/// Makes the text of a statement and its parameters.
package struct StatementWriter {
    package private(set) var parameters: [String?] = []
    private let sign: Character

    /// - Parameter sign: what begins a placeholder.
    package init(sign: Character) { self.sign = sign }

    /// Adds a parameter, and returns its placeholder.
    package mutating func add(_ value: String?) -> String {
        parameters.append(value)
        return "\(sign)\(parameters.count)"
    }

    /// Adds the arguments of jobs: one object of JSON, or an array of such.
    package mutating func add(_ arguments: [Data], isArray: Bool) -> String {
        let texts = arguments.map { String(decoding: $0, as: UTF8.self) }
        return add(isArray ? "[\(texts.joined(separator: ","))]" : texts.first)
    }
}
#endif
