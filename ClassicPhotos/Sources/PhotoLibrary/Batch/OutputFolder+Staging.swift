@_spi(ClassicPhotos) import PhotoPipeline

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

// Staged results. The worker that commits a job renames the job's file afterwards.

extension OutputFolder {
    /// Writes a result to a file beside the results, and its line to the log. The file gets its
    /// name by a rename later.
    ///
    /// The line is on the disk when the method returns; the file may not be.
    ///
    /// - Parameters:
    ///   - path: the later path of the file.
    ///   - staged: returns a new name for the file, in the same file system as the folder.
    /// - Throws: the failure to write the file, or `cancelled` after a problem that affects every
    ///   file.
    func stage(
        _ bytes: [UInt8], for path: OutputPath, from origin: ResultOrigin,
        as staged: () throws -> String
    ) async throws(PhotoStageStop) {
        if problem != nil { throw .cancelled }
        do throws(FileProblem) {
            let folder = try openFolder(for: path)
            do throws(FileProblem) { _ = try mayReplace(path, in: folder, from: origin.url) } catch
            {
                // Another process may have written the present file since the log was read.
                rereadLog()
                _ = try mayReplace(path, in: folder, from: origin.url)
            }
            guard let name = try? staged(), let file = LocalPath(name) else {
                throw FileProblem(path, errno: EACCES)
            }
            try Self.write(bytes, to: file, modified: origin.version?.modified, calls: calls)
        } catch {
            throw stop(for: error)
        }
        let entry = ResultLog.Entry(
            result: path.relativePath, origin: origin, byteCount: bytes.count,
            checksum: fnv1a(bytes))
        if let problem = await publish(nil, at: path, entry) { throw stop(for: problem) }
    }

    private static func write(
        _ bytes: [UInt8], to path: LocalPath, modified: FileTime?, calls: FileCalls
    ) throws(FileProblem) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        var file: Int32 = -1
        for _ in 0..<5 {
            file = path.withCString { open($0, flags, 0o666) }
            guard file < 0, errno == ENOENT, let folder = path.folder else { break }
            // Another process has deleted the folder of staged files, which was empty.
            _ = try StagedFile.makeFolder(folder)
        }
        guard file >= 0 else { throw FileProblem(path, errno: errno) }
        defer { close(file) }
        let code = calls.writeAll(bytes, to: file)
        guard code == 0 else {
            _ = path.withCString { unlink($0) }
            throw FileProblem(path, errno: code)
        }
        guard let modified else { return }
        let time = timespec(tv_sec: modified.seconds, tv_nsec: modified.nanoseconds)
        _ = futimens(file, [time, time])
    }

    // MARK: Identity

    private static let identityFile = ".classicphotos-folder"

    /// The random text that identifies the folder, written into it by the first call. Another
    /// machine sees the same folder only if it reads the same text.
    public func makeIdentity() throws(Problem) -> String {
        if let identity = Self.identity(of: path) { return identity }
        let text = (0..<2).map { _ in UInt64.random(in: .min ... .max).hexadecimalDigits }.joined()
        let file = path.appending(Self.identityFile.utf8)
        do throws(FileProblem) {
            let staged = try StagedFile(Array("\(text)\n".utf8), at: file, calls: calls)
            try staged.sync()
            // If another process was first, its text counts.
            _ = try staged.publish(replacing: false)
        } catch {
            throw Problem(description: error.message)
        }
        guard let identity = Self.identity(of: path) else {
            throw Problem(description: "\(file) cannot be read. Delete this file.")
        }
        return identity
    }

    /// The text that identifies a folder; nil if the folder has none, or does not exist.
    public static func identity(of path: String) -> String? {
        LocalPath(path).flatMap { identity(of: $0) }
    }

    private static func identity(of path: LocalPath) -> String? {
        let file = path.appending(identityFile.utf8)
        guard
            let bytes = try? LocalFiles.bytes(
                of: LocalFile(file, in: path), limit: 100, named: file.description)
        else {
            return nil
        }
        let text = String(decoding: bytes, as: UTF8.self).prefix { !$0.isWhitespace }
        return text.count == 32 ? String(text) : nil
    }

    /// The absolute path; nil if it is not UTF-8.
    public var absolutePath: String? {
        guard let text = String(validating: path.bytes, as: UTF8.self) else { return nil }
        let start = FileManager.default.currentDirectoryPath
        if text == "." { return start }
        return text.hasPrefix("/") ? text : (start == "/" ? "" : start) + "/" + text
    }
}

extension OutputFolder {
    /// A problem that affects every result, such as a full disk, as a sentence; nil if there is
    /// none.
    public var generalProblem: String? { problem?.message }
}
