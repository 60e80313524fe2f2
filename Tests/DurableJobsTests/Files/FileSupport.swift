#if DurableJobs
import DurableJobFiles
import DurableJobs

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Opens a new store with files, calls a function with a queue of it, and closes the store.
func withFileQueue(
    _ kind: StoreKind, attachmentLimit: Int = 2 << 30, _ body: (JobQueue) async throws -> Void
) async throws {
    try await withStorage(kind) { storage in
        let storage = storage.withFiles(attachmentLimit: attachmentLimit)
        try await closing(try await JobQueue("tests", in: storage), body)
    }
}

/// Writes a staged file.
struct WriteFile: Job {
    static let name = "write file"
    var path: String
    var text: String
    var failures = 0
    var board = Board.newName()

    func perform(in context: JobContext) async throws -> String {
        let staged = try context.stagedFile(for: path)
        try Data(text.utf8).write(to: URL(filePath: staged))
        if Board.count(board) <= failures { throw PermanentFailure("it was told to fail") }
        return path
    }
}
#endif
