#if DurableJobs
import FoundationEssentials
import Operations

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The staged files of one attempt; see steps 3 to 6 of Protocol.md.
final class StagedFiles: Sendable {
    private let outputs = Locked<[StagedOutput]>([])

    /// Returns a new name beside the final one.
    func stage(_ final: String, job: JobID, attempt: Int) throws -> String {
        if Faults.direct { return final }
        let folder = StagePath.folder(of: final)
        let staging = StagePath.staging(in: folder)
        try FileManager.default.createDirectory(
            atPath: staging, withIntermediateDirectories: true)
        let random = UInt64.random(in: .min ... .max)
        let staged = "\(staging)/\(job)-\(attempt)-\(String(random, radix: 16))"
        outputs.withLock { $0.append(StagedOutput(staged: staged, final: final)) }
        return staged
    }

    /// Writes the files to the disk.
    func sync() throws {
        for output in outputs.withLock({ $0 }) { try FileSync.sync(output.staged) }
    }

    /// The names as JSON; nil if there are no files.
    var text: String? {
        let outputs = outputs.withLock { $0 }
        guard !outputs.isEmpty, let data = try? JSONEncoder().encode(outputs) else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    /// Deletes the files of an attempt that was not committed.
    func delete() {
        for output in outputs.withLock({ $0 }) { unlink(output.staged) }
    }
}

/// The names of staged files.
enum StagePath {
    static func folder(of file: String) -> String {
        guard let slash = file.lastIndex(of: "/") else { return "." }
        return slash == file.startIndex ? "/" : String(file[..<slash])
    }

    static func staging(in folder: String) -> String {
        folder == "/" ? "/.stage" : "\(folder)/.stage"
    }

    /// Returns the job and the attempt of a staged file; nil for any other file.
    static func attempt(of name: String) -> (job: JobID, attempt: Int)? {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let job = Int64(parts[0]), let attempt = Int(parts[1]) else {
            return nil
        }
        return (JobID(job), attempt)
    }
}

/// Gives staged files their final names.
enum Publishing {
    /// Renames the files of committed jobs, and syncs their folders.
    ///
    /// - Parameter jobs: the jobs with the text of ``StagedFiles/text``.
    /// - Returns: the jobs whose files all have their final names, because of this call or an
    ///   earlier one.
    static func publish(_ jobs: [(job: JobID, outputs: String)]) -> [JobID] {
        var renamed: [(job: JobID, folders: Set<String>)] = []
        for (job, text) in jobs {
            guard
                let outputs = try? JSONDecoder().decode(
                    [StagedOutput].self, from: Data(text.utf8))
            else { continue }
            var folders: Set<String> = []
            var isComplete = true
            for output in outputs {
                if rename(output.staged, output.final) == 0
                    || (errno == ENOENT && access(output.final, F_OK) == 0)
                {
                    folders.insert(StagePath.folder(of: output.final))
                } else {
                    // This machine does not see the folder, or may not write to it.
                    isComplete = false
                }
            }
            if isComplete { renamed.append((job, folders)) }
        }
        let folders = renamed.reduce(into: Set()) { $0.formUnion($1.folders) }
        let unsynced = folders.filter { (try? FileSync.sync($0)) == nil }
        return renamed.filter { $0.folders.isDisjoint(with: unsynced) }.map(\.job)
    }
}

/// Writes a file, or the names in a folder, to the disk.
enum FileSync {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static func sync(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Failure(description: "\(path): \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw Failure(description: "\(path): \(String(cString: strerror(errno)))")
        }
    }
}
#endif
