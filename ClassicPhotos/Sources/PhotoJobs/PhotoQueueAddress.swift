public import DurableJobs
import DurableJobsPostgres
import FoundationEssentials
import PhotoPipeline

// PhotoJobs: photos of a batch as durable jobs, which several processes and machines share.
// PhotoPipeline does the work on each photo, and DurableJobs stores the jobs.

/// The place of a queue of photos: a SQLite file of this machine, or a PostgreSQL database.
public struct PhotoQueueAddress: Sendable, CustomStringConvertible {
    /// The reason why a text names no queue, as a sentence.
    public struct Problem: Error, Sendable, CustomStringConvertible {
        /// The reason, as a sentence.
        public let description: String
    }

    private let storage: JobStorage
    /// The path of the file, if it is one.
    private let file: String?

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
            (storage, file) = (.postgres(text), nil)
        case "file" where rest.hasPrefix(":"):
            let path = rest.hasPrefix("://") ? rest.dropFirst(3) : rest.dropFirst()
            guard let path = String(validating: percentDecoded(path), as: UTF8.self), !path.isEmpty
            else {
                throw Problem(
                    description: "The queue's URL names no file, as in file:///jobs.sqlite.")
            }
            (storage, file) = (.file(path), path)
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
            (storage, file) = (.file(text), text)
        }
    }

    /// Whether the queue is a file that does not exist, so that ``open(makingFile:)`` makes it.
    public var isMissingFile: Bool {
        file.map { !FileManager.default.fileExists(atPath: $0) } ?? false
    }

    /// Opens the queue; makes its file or its tables if they do not exist.
    ///
    /// - Parameter makesFile: whether a file that does not exist is made.
    /// - Throws: ``Problem`` if it cannot be used.
    public func open(makingFile makesFile: Bool = true) async throws(Problem) -> JobQueue {
        if !makesFile, isMissingFile, let file {
            throw Problem(description: "There is no queue \(file). \"process --queue\" makes it.")
        }
        do {
            return try await JobQueue("photos", in: storage)
        } catch {
            let text = "\(error)"
            throw Problem(description: text.hasSuffix(".") ? text : "\(text).")
        }
    }
}
