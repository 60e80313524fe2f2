#if DurableJobs
package import OperationsRuntime
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A queue of durable jobs in a store.
///
/// ```swift
/// let jobs = try await JobQueue("photos", in: .file("jobs.sqlite"))
/// let picture = try await jobs.enqueue(Thumbnail(photo: "alps.jpg", size: 320), .retry(3))
/// let album = try await jobs.enqueue(Album(picture: picture), after: picture)
/// print(try await album.value)
/// ```
///
/// A store may hold any number of queues. Queues of one name in one store are the same queue, in
/// all processes. A job that this class has stored survives a crash of the process and of the
/// machine. A ``JobWorker``, of this process or of another one, runs it.
///
/// All methods may be called from any task. Unless it says otherwise, a method is one transaction
/// of the store, and throws the store's error if there is no connection.
public final class JobQueue: Sendable {
    /// The name of the queue in its store.
    public let name: String
    package let store: JobStore
    package let observer = Locked<(any JobQueueObserver)?>(nil)
    package let health = StoreHealth()
    let signals = LocalSignals()
    let waits: OutcomeWaits

    /// Opens a queue; creates the store's tables if they do not exist, or migrates older ones.
    ///
    /// - Parameters:
    ///   - name: the queue's name in the store, 1 to 200 bytes.
    ///   - storage: the place of the store.
    /// - Throws: ``JobError`` if the store cannot be used, or was made by a newer version of the
    ///   library.
    public convenience init(_ name: String = "default", in storage: JobStorage) async throws {
        try JobCoding.check(name: name)
        self.init(name, try await storage.open())
    }

    package init(_ name: String, _ store: JobStore) {
        (self.name, self.store) = (name, store)
        waits = OutcomeWaits(store, queue: name, signals)
    }

    /// Returns another queue of the same store, which shares this queue's connection.
    public func queue(_ name: String) throws -> JobQueue {
        try JobCoding.check(name: name)
        return JobQueue(name, store)
    }

    /// Closes the store's connection. Stop the workers of this process first.
    public func close() async { await store.database.close() }

    /// Returns the handle of a job that was enqueued before, perhaps by another process.
    ///
    /// - Parameters:
    ///   - type: the type of the job. If the job is of another type, its result cannot be read.
    ///   - id: the number of the job.
    public func handle<J: Job>(of type: J.Type, id: JobID) -> JobHandle<J.Output> {
        JobHandle(id, in: self)
    }

    func value<Output>(of handle: JobHandle<Output>) async throws -> Output {
        let outcome = try await waits.outcome(of: handle.id)
        switch outcome.state {
        case .completed:
            return try JobCoding.output(
                Output.self, from: outcome.result ?? Data(), of: handle.id)
        case .cancelled:
            throw JobCancellation(id: handle.id, reason: outcome.error ?? "it was asked to stop")
        default:
            throw JobFailure(id: handle.id, reason: outcome.error ?? "there is no reason")
        }
    }
}
#endif
