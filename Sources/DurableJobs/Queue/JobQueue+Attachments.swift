#if DurableJobs
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension JobQueue {
    /// Returns the bytes that a completed job has attached; nil if it has attached none, or if they
    /// were removed.
    ///
    /// - Parameter id: a job of the store.
    public func attachment(of id: JobID) async throws -> Data? {
        try await store.attachment(of: id)
    }

    /// Removes the bytes that a job has attached from the store, if they are there.
    ///
    /// Call this method when the bytes are safe in another place. If the process dies before, the
    /// bytes are still there, and a job with the same unique key joins the job that has them.
    public func removeAttachment(of id: JobID) async throws {
        Faults.dieBeforeRemoval()
        try await store.removeAttachment(of: id)
    }
}
#endif
