import DurableJobFiles
public import DurableJobs
import DurableJobsPostgres
import PhotoLibrary
@_spi(ClassicPhotos) import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// PhotoJobs: photos of a batch as durable jobs, which several processes and machines share.
// PhotoLibrary does the work on each photo, and DurableJobs stores the jobs.

/// The place of a queue of photos: a SQLite file of this machine, or a PostgreSQL database.
public struct PhotoQueueAddress: Sendable, CustomStringConvertible {
    /// The reason why a text names no queue, as a sentence.
    public struct Problem: Error, Sendable, CustomStringConvertible {
        /// The reason, as a sentence.
        public let description: String
    }

    private let storage: JobStorage
    private let isFile: Bool

    /// The place for people, without passwords.
    public var description: String { storage.description }

    /// Reads an address.
    ///
    /// - Parameter text: `postgres://…` or `postgresql://…` as libpq takes it, otherwise the path
    ///   of a file, or a URL with the scheme `file`.
    public init(_ text: String) throws(Problem) {
        let scheme = text.prefix { $0.isLetter || $0.isNumber || $0 == "+" }.lowercased()
        let rest = text.dropFirst(scheme.count)
        switch scheme {
        case "postgres" where rest.hasPrefix("://"), "postgresql" where rest.hasPrefix("://"):
            (storage, isFile) = (.postgres(text).withFiles(), false)
        case "file" where rest.hasPrefix(":"):
            let path = rest.hasPrefix("://") ? rest.dropFirst(3) : rest.dropFirst()
            guard let path = String(validating: percentDecoded(path), as: UTF8.self), !path.isEmpty
            else {
                throw Problem(
                    description: "The queue's URL names no file, as in file:///jobs.sqlite.")
            }
            (storage, isFile) = (.file(path).withFiles(), true)
        case _ where rest.hasPrefix("://"):
            // The text may contain a password.
            throw Problem(
                description: "A queue cannot have a URL with the scheme \(scheme). Use "
                    + "postgres://host/database, or the path of a SQLite file.")
        default:
            guard !text.isEmpty else {
                throw Problem(
                    description: "The queue must be postgres://host/database, or the path of a "
                        + "SQLite file.")
            }
            (storage, isFile) = (.file(text).withFiles(), true)
        }
    }

    /// Opens the queue; makes its file or its tables if they do not exist.
    ///
    /// - Parameter makesTables: whether a file or tables that do not exist are made.
    /// - Throws: ``Problem`` if the queue cannot be used.
    public func open(makingTables makesTables: Bool = true) async throws(Problem) -> JobQueue {
        if !makesTables, try await schemaVersion() == 0 {
            throw Problem(
                description: "There is no queue \(self). \"process --queue\" makes it.")
        }
        return try await Self.explaining { try await JobQueue("photos", in: storage) }
    }

    // MARK: Tables

    /// The version of the tables that this program makes.
    public static var newestSchemaVersion: Int { JobStorage.newestSchemaVersion }

    /// The version of the queue's tables, or 0 if there is no file, or a database without tables.
    /// Changes nothing.
    ///
    /// - Throws: ``Problem`` if the queue cannot be read.
    public func schemaVersion() async throws(Problem) -> Int {
        try await Self.explaining { try await storage.schemaVersion() }
    }

    /// Makes the tables, or migrates those of an older version of the program.
    ///
    /// - Throws: ``Problem`` if the tables cannot be changed.
    public func migrate() async throws(Problem) {
        try await Self.explaining { try await storage.migrate() }
    }

    /// The statements that make or migrate the tables, none if they are the newest; nil for a file,
    /// which needs no other role.
    ///
    /// - Parameter version: the version of the tables, 0 if there are none.
    public func migration(from version: Int) -> String? {
        if isFile { return nil }
        return version < Self.newestSchemaVersion ? storage.postgresMigration(from: version) : ""
    }

    private static func explaining<Value>(
        _ body: () async throws -> Value
    ) async throws(Problem) -> Value {
        do {
            return try await body()
        } catch {
            let text = "\(error)"
            throw Problem(description: text.hasSuffix(".") ? text : "\(text).")
        }
    }
}
