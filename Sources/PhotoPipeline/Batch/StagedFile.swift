import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A file that has its bytes, but not yet its name.
///
/// The bytes go into a file without a name, where the system offers that, and else into a hidden
/// one beside the target. ``publish(replacing:)`` gives it the name in one step, so that the name
/// never stands for half a content: whatever stops the program before that step, the target is as
/// it was.
final class StagedFile: Sendable {
    /// Names of files that were being written when the program was killed end like this.
    static let partialSuffix = ".classicphotos-partial"

    /// What became of giving the file its name.
    enum Publication { case done, nameIsTaken }

    let path: LocalPath
    /// The folders whose names have changed by making the file's own.
    let madeFolders: [LocalPath]
    private let calls: FileCalls
    private let file: Int32
    /// The name that the file has meanwhile; nil if it has none.
    private let partial: LocalPath?
    private let hasPartialName: Atomic<Bool>

    /// Writes the bytes; nothing can be seen of them yet.
    ///
    /// - Parameter canBeUnnamed: false where ``canNameUnnamedFiles(in:calls:)`` says so.
    init(
        _ bytes: [UInt8], at path: LocalPath, canBeUnnamed: Bool = true,
        calls: FileCalls = .system
    ) throws(FileProblem) {
        self.path = path
        self.calls = calls
        let folder = path.folder ?? LocalPath.workingFolder
        madeFolders = try Self.makeFolder(folder)
        let unnamed = canBeUnnamed ? Self.openUnnamed(in: folder) : nil
        let partial = Self.partial(for: path, in: folder)
        if let unnamed {
            file = unnamed
            self.partial = nil
        } else {
            // What a killed run left may be a second name of a result, which is not to be emptied.
            _ = partial.withCString { unlink($0) }
            file = partial.withCString { open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666) }
            guard file >= 0 else { throw FileProblem(path, errno: errno) }
            self.partial = partial
        }
        hasPartialName = Atomic(unnamed == nil)
        let code = calls.writeAll(bytes, to: file)
        guard code == 0 else { throw FileProblem(path, errno: code) }
    }

    deinit {
        close(file)
        removePartial()
    }

    private func removePartial() {
        guard let partial, hasPartialName.exchange(false, ordering: .relaxed) else { return }
        _ = partial.withCString { unlink($0) }
    }

    /// Returns when the bytes are on the disk.
    func sync() throws(FileProblem) {
        guard calls.sync(file) == 0 else { throw FileProblem(path, errno: errno) }
    }

    /// Gives the file its name.
    ///
    /// - Parameter replacing: whether a file that has the name loses it.
    func publish(replacing: Bool) throws(FileProblem) -> Publication {
        guard let partial else { return try publishUnnamed(replacing: replacing) }
        if !replacing {
            if calls.link(partial, path) == 0 {
                removePartial()
                return .done
            }
            // Some file systems have no links.
            guard [EPERM, ENOTSUP, ENOSYS, EMLINK].contains(errno) else { return try whyNoLink() }
            var status = stat()
            if path.withCString({ lstat($0, &status) }) == 0 { return .nameIsTaken }
        }
        guard calls.rename(partial, path) == 0 else { throw FileProblem(path, errno: errno) }
        hasPartialName.store(false, ordering: .relaxed)
        return .done
    }

    private func publishUnnamed(replacing: Bool) throws(FileProblem) -> Publication {
        let source = Self.ownFiles.appending("\(file)".utf8)
        guard replacing else {
            return calls.link(source, path) == 0 ? .done : try whyNoLink()
        }
        // A link cannot replace a file; a rename can.
        let partial = Self.partial(for: path, in: path.folder ?? .workingFolder)
        _ = partial.withCString { unlink($0) }
        guard calls.link(source, partial) == 0 else { throw FileProblem(path, errno: errno) }
        guard calls.rename(partial, path) == 0 else {
            let code = errno
            _ = partial.withCString { unlink($0) }
            throw FileProblem(path, errno: code)
        }
        return .done
    }

    private func whyNoLink() throws(FileProblem) -> Publication {
        guard errno == EEXIST else { throw FileProblem(path, errno: errno) }
        return .nameIsTaken
    }

    private static func partial(for path: LocalPath, in folder: LocalPath) -> LocalPath {
        folder.appending(".".utf8 + Array(path.name) + ".\(getpid())\(partialSuffix)".utf8)
    }

    /// The names that the system has for this process's open files.
    private static let ownFiles = LocalPath.root.appending("proc/self/fd".utf8)

    /// Nil if the file system has no unnamed files.
    private static func openUnnamed(in folder: LocalPath) -> Int32? {
        #if os(Linux)
        // O_TMPFILE is __O_TMPFILE | O_DIRECTORY; the first is not imported.
        let flags = O_WRONLY | O_CLOEXEC | 0o20000000 | O_DIRECTORY
        let file = folder.withCString { open($0, flags, 0o666) }
        return file >= 0 ? file : nil
        #else
        return nil
        #endif
    }

    /// Whether an unnamed file can get a name here, which takes /proc and a file system that has
    /// both.
    static func canNameUnnamedFiles(in folder: LocalPath, calls: FileCalls = .system) -> Bool {
        guard let file = openUnnamed(in: folder) else { return false }
        defer { close(file) }
        let name = partial(for: folder.appending("classicphotos".utf8), in: folder)
        guard calls.link(ownFiles.appending("\(file)".utf8), name) == 0 else { return false }
        _ = name.withCString { unlink($0) }
        return true
    }

    /// Makes a folder, and those above it that do not exist yet.
    ///
    /// - Returns: the folders in which one was made.
    static func makeFolder(_ folder: LocalPath) throws(FileProblem) -> [LocalPath] {
        let result = folder.withCString { mkdir($0, 0o777) }
        if result == 0 { return [folder.folder ?? .workingFolder] }
        switch errno {
        case EEXIST:
            var status = stat()
            guard folder.withCString({ stat($0, &status) }) == 0 else {
                throw FileProblem(folder, errno: errno)
            }
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw FileProblem(folder, errno: ENOTDIR)
            }
            return []
        case ENOENT:
            guard let above = folder.folder else { throw FileProblem(folder, errno: ENOENT) }
            let made = try makeFolder(above)
            return try made + makeFolder(folder)
        case let code:
            throw FileProblem(folder, errno: code)
        }
    }
}
