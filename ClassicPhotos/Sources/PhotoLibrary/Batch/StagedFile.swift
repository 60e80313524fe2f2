@_spi(ClassicPhotos) import PhotoPipeline
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// A file that has its contents, but not yet its name.
///
/// The bytes go into an unnamed file if the system supports that, otherwise into a hidden file
/// beside the target. ``publish(replacing:)`` gives the file its name in one step, so the name
/// never stands for partial contents. If the program stops before that step, the target is
/// unchanged.
final class StagedFile: Sendable {
    /// The suffix of partial files, which remain if the program is killed while writing.
    static let partialSuffix = ".classicphotos-partial"

    /// The result of giving the file its name.
    enum Publication { case done, nameIsTaken }

    let path: LocalPath
    let folder: OpenFolder
    private let calls: FileCalls
    private let file: Int32
    /// The name that the file will have.
    private let name: NameInFolder
    /// The temporary name of the file; nil if it has none.
    private let partial: NameInFolder?
    private let hasPartialName: Atomic<Bool>

    /// Writes the bytes to a file that is not visible yet.
    ///
    /// - Parameters:
    ///   - folder: the folder of the file; nil to open the folder of the path.
    ///   - canBeUnnamed: the result of ``canNameUnnamedFiles(in:calls:)``.
    init(
        _ bytes: [UInt8], at path: LocalPath, in folder: OpenFolder? = nil,
        canBeUnnamed: Bool = true, calls: FileCalls = .system
    ) throws(FileProblem) {
        self.path = path
        self.calls = calls
        let opened: OpenFolder
        if let folder {
            opened = folder
        } else {
            opened = try OpenFolder(path.folder ?? .workingFolder)
        }
        self.folder = opened
        name = opened.name(path.name)
        let unnamed = canBeUnnamed ? Self.openUnnamed(in: opened) : nil
        let partial = Self.partial(for: path.name, in: opened)
        if let unnamed {
            file = unnamed
            self.partial = nil
        } else {
            // A killed run may have left this name as a second name of a result, which must not be
            // truncated.
            partial.remove()
            file = partial.withCString {
                openat(partial.folder, $0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
            }
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
        partial.remove()
    }

    /// Sets the time of the last modification, as far as the file system can store it. A file
    /// without its time is no reason to fail.
    func setTime(_ time: FileTime) {
        let time = timespec(tv_sec: time.seconds, tv_nsec: time.nanoseconds)
        _ = futimens(file, [time, time])
    }

    /// Returns once the bytes are on the disk.
    func sync() throws(FileProblem) {
        guard calls.sync(file) == 0 else { throw FileProblem(path, errno: errno) }
    }

    /// Gives the file its name.
    ///
    /// - Parameter replacing: whether to replace an existing file of that name.
    func publish(replacing: Bool) throws(FileProblem) -> Publication {
        guard let partial else { return try publishUnnamed(replacing: replacing) }
        if !replacing {
            if calls.link(partial, name) == 0 {
                removePartial()
                return .done
            }
            // Some file systems do not support links.
            guard [EPERM, ENOTSUP, ENOSYS, EMLINK].contains(errno) else {
                return try failedLinkResult()
            }
            if name.status != nil { return .nameIsTaken }
        }
        guard calls.rename(partial, name) == 0 else { throw FileProblem(path, errno: errno) }
        hasPartialName.store(false, ordering: .relaxed)
        return .done
    }

    private func publishUnnamed(replacing: Bool) throws(FileProblem) -> Publication {
        let source = NameInFolder(path: Self.ownFiles.appending("\(file)".utf8))
        guard replacing else {
            return calls.link(source, name) == 0 ? .done : try failedLinkResult()
        }
        // A link cannot replace a file, but a rename can.
        let partial = Self.partial(for: path.name, in: folder)
        partial.remove()
        guard calls.link(source, partial) == 0 else { throw FileProblem(path, errno: errno) }
        guard calls.rename(partial, name) == 0 else {
            let code = errno
            partial.remove()
            throw FileProblem(path, errno: code)
        }
        return .done
    }

    private func failedLinkResult() throws(FileProblem) -> Publication {
        guard errno == EEXIST else { throw FileProblem(path, errno: errno) }
        return .nameIsTaken
    }

    private static func partial(
        for name: some Sequence<UInt8>, in folder: OpenFolder
    ) -> NameInFolder {
        folder.name(Array(".".utf8) + Array(name) + Array(".\(getpid())\(partialSuffix)".utf8))
    }

    /// The folder in which the system lists this process's open files.
    private static let ownFiles = LocalPath.root.appending("proc/self/fd".utf8)

    /// Opens an unnamed file; nil if the file system does not support unnamed files.
    private static func openUnnamed(in folder: OpenFolder) -> Int32? {
        #if os(Linux)
        // O_TMPFILE is __O_TMPFILE | O_DIRECTORY; Swift does not import __O_TMPFILE.
        let flags = O_WRONLY | O_CLOEXEC | 0o20000000 | O_DIRECTORY
        let file = openat(folder.descriptor, ".", flags, 0o666)
        return file >= 0 ? file : nil
        #else
        return nil
        #endif
    }

    /// Whether an unnamed file in this folder can get a name: requires /proc, and a file system
    /// that supports both unnamed files and links.
    static func canNameUnnamedFiles(in folder: LocalPath, calls: FileCalls = .system) -> Bool {
        guard let folder = try? OpenFolder(folder), let file = openUnnamed(in: folder) else {
            return false
        }
        defer { close(file) }
        let name = partial(for: "classicphotos".utf8, in: folder)
        let source = NameInFolder(path: ownFiles.appending("\(file)".utf8))
        guard calls.link(source, name) == 0 else { return false }
        name.remove()
        return true
    }

    /// Creates a folder and its missing parents.
    ///
    /// - Returns: the folders that got a new entry.
    static func makeFolder(
        _ folder: LocalPath, mode: mode_t = 0o777
    ) throws(FileProblem) -> [LocalPath] {
        let result = folder.withCString { mkdir($0, mode) }
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
            let made = try makeFolder(above, mode: mode)
            return try made + makeFolder(folder, mode: mode)
        case let code:
            throw FileProblem(folder, errno: code)
        }
    }
}
