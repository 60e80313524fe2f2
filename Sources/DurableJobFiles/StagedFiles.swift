#if DurableJobs
import DurableJobs
import OperationsRuntime

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// A staged file and the name that it gets after the commit.
struct StagedOutput: Sendable, Codable, Hashable {
    let staged: String
    let final: String
    /// The name of a file in the folder of staged files, which no other folder has. Nil in jobs of
    /// older versions.
    var mark: String?
}

/// The staged files of one attempt; see the steps in DurableJobFiles.docc.
final class StagedFiles: Sendable {
    private let outputs = Locked<[StagedOutput]>([])

    /// Returns a new name beside the final one.
    func stage(_ final: String, job: JobID, attempt: Int) throws -> String {
        if Faults.direct { return final }
        let folder = PathText.folder(of: final)
        let staging = StagePath.staging(in: folder)
        try FileManager.default.createDirectory(
            atPath: staging, withIntermediateDirectories: true)
        let random = UInt64.random(in: .min ... .max)
        let staged = "\(staging)/\(job)-\(attempt)-\(String(random, radix: 16))"
        let mark = try StageMark.name(in: staging)
        outputs.withLock { $0.append(StagedOutput(staged: staged, final: final, mark: mark)) }
        return staged
    }

    /// Writes the files to the disk.
    func sync() throws {
        for output in outputs.withLock({ $0 }) { try FileSync.sync(output.staged) }
    }

    /// The names as JSON in ASCII, which every database can hold; nil if there are no files.
    var text: String? {
        let outputs = outputs.withLock { $0 }
        guard !outputs.isEmpty, let data = try? JSONEncoder().encode(outputs) else { return nil }
        return String(decoding: data, as: UTF8.self).utf16.reduce(into: "") { text, unit in
            if unit < 0x80 {
                text.unicodeScalars.append(UnicodeScalar(UInt8(unit)))
            } else {
                let digits = String(unit, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
    }

    /// Deletes the files of an attempt that was not committed.
    func delete() {
        for output in outputs.withLock({ $0 }) { unlink(output.staged) }
    }
}

/// The names of staged files.
enum StagePath {
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

extension StagedOutput {
    /// Whether the staged file is of the job, and beside its final place. The store may contain
    /// anything, and no other file is renamed.
    fileprivate func isStaged(by job: JobID) -> Bool {
        if Faults.direct { return true }
        let parts = staged.utf8.split(separator: UInt8(ascii: "/"))
        let name = parts.last.map { String(Substring($0)) } ?? ""
        return StagePath.attempt(of: name)?.job == job
            && staged == "\(StagePath.staging(in: PathText.folder(of: final)))/\(name)"
    }
}

/// Tells the folder of a staged file from a folder with the same path on another machine.
enum StageMark {
    static let prefix = "folder-"
    private static let known = Locked<[String: String]>([:])

    /// Returns the name of a mark in a folder of staged files; makes one if there is none.
    static func name(in staging: String) throws -> String {
        if let name = known.withLock({ $0[staging] }), exists(name, in: staging) { return name }
        let found = try FileManager.default.contentsOfDirectory(atPath: staging)
            .filter { $0.hasPrefix(prefix) }.min()
        let name = found ?? "\(prefix)\(UUID().uuidString)"
        if found == nil {
            // Two processes may make a mark each. Both are marks of this folder.
            let descriptor = open("\(staging)/\(name)", O_CREAT | O_WRONLY | O_CLOEXEC, 0o644)
            guard descriptor >= 0 else {
                throw FileSync.Failure(
                    description: "\(staging): \(String(cString: strerror(errno)))")
            }
            close(descriptor)
            try FileSync.sync(staging)
        }
        known.withLock { $0[staging] = name }
        return name
    }

    static func exists(_ name: String, in staging: String) -> Bool {
        name.hasPrefix(prefix) && access("\(staging)/\(name)", F_OK) == 0
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
                if output.isStaged(by: job), rename(output) {
                    folders.insert(PathText.folder(of: output.final))
                } else {
                    // This machine does not see the folder, or may not write to it.
                    isComplete = false
                }
            }
            if isComplete { renamed.append((job, folders)) }
        }
        let folders = renamed.reduce(into: Set<String>()) { $0.formUnion($1.folders) }
        let unsynced = folders.filter { (try? FileSync.sync($0)) == nil }
        return renamed.filter { $0.folders.isDisjoint(with: unsynced) }.map(\.job)
    }

    /// Returns whether the file has its final name, because of this call or an earlier one.
    ///
    /// Only a rename removes the staged file of a committed attempt. So if the file is not there,
    /// it was renamed, provided that this machine sees the folder in which the file was. A file
    /// with the final name may be an older one, on a machine that does not.
    private static func rename(_ output: StagedOutput) -> Bool {
        let staging = PathText.folder(of: output.staged)
        #if canImport(Glibc)
        let result = Glibc.rename(output.staged, output.final)
        #elseif canImport(Musl)
        let result = Musl.rename(output.staged, output.final)
        #elseif canImport(Android)
        let result = Android.rename(output.staged, output.final)
        #else
        let result = Darwin.rename(output.staged, output.final)
        #endif
        guard result != 0 else { return true }
        guard errno == ENOENT else { return false }
        guard let mark = output.mark else { return access(output.final, F_OK) == 0 }
        return StageMark.exists(mark, in: staging)
    }
}

/// Writes a file, or the names in a folder, to the disk.
enum FileSync {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static func sync(_ path: String) throws {
        // Without the option, the open of a named pipe in place of the file waits for ever for a
        // process that writes.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw Failure(description: "\(path): \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0,
            [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
        else { throw Failure(description: "\(path) is neither a regular file nor a folder") }
        guard fsync(descriptor) == 0 else {
            throw Failure(description: "\(path): \(String(cString: strerror(errno)))")
        }
    }
}
#endif
