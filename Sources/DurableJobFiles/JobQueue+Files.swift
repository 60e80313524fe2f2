#if DurableJobs
public import DurableJobs

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The methods throw `JobError.unusableStore` if the queue was opened
/// without ``DurableJobs/JobStorage/withFiles(attachmentLimit:)``.
extension JobQueue {
    /// Returns the bytes that a completed job has attached; nil if it has attached none, or if they
    /// were removed.
    ///
    /// - Parameter id: a job of the store.
    public func attachment(of id: JobID) async throws -> Data? {
        try await files.attachment(of: id)
    }

    /// Removes the bytes that a job has attached from the store, if they are there.
    ///
    /// Call this method when the bytes are safe in another place. If the process dies before, the
    /// bytes are still there, and a job with the same unique key joins the job that has them.
    public func removeAttachment(of id: JobID) async throws {
        let files = try files
        Faults.dieBeforeRemoval()
        try await files.removeAttachment(of: id)
    }

    /// Deletes staged files that dead workers have left in a folder.
    ///
    /// Staged files of running attempts, and of committed attempts that are not yet published,
    /// stay. If the store has no such attempt, the marks of the folder go too, and the folder of
    /// staged files is empty. Files of other stores cannot be told from those of this one, so the
    /// jobs of one folder belong in one store.
    ///
    /// - Parameter folder: the folder of the final files.
    /// - Returns: the number of deleted files.
    @discardableResult
    public func removeStagedFiles(in folder: String) async throws -> Int {
        let store = try files
        let staging = StagePath.staging(in: folder)
        guard FileManager.default.fileExists(atPath: staging) else { return 0 }
        let names = try FileManager.default.contentsOfDirectory(atPath: staging)
        let staged = names.compactMap { name in StagePath.attempt(of: name).map { (name, $0) } }
        let isRunning = try await store.running(staged.map(\.1))
        var count = 0
        for (file, isRunning) in zip(staged, isRunning) where !isRunning {
            if try Self.remove("\(staging)/\(file.0)") { count += 1 }
        }
        if try await !store.mayHaveStagedFiles() {
            for name in names where name.hasPrefix(StageMark.prefix) {
                _ = try Self.remove("\(staging)/\(name)")
            }
        }
        return count
    }

    /// Deletes a file. Returns false if it is gone: an attempt that has lost its lease deletes its
    /// own file, perhaps at this moment.
    private static func remove(_ path: String) throws -> Bool {
        do {
            try FileManager.default.removeItem(atPath: path)
            return true
        } catch let error as CocoaError where error.code == .fileNoSuchFile {
            return false
        }
    }

    /// The store, which has files.
    private var files: JobStore {
        get throws {
            guard store.extension is JobFiles else {
                throw JobError.unusableStore(
                    store: store.description,
                    reason: "the queue '\(name)' was opened without files: write `.withFiles()` "
                        + "after the place of the store")
            }
            return store
        }
    }
}
#endif
