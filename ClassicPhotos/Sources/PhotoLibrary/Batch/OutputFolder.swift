import Operations
@_spi(ClassicPhotos) import PhotoPipeline
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
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

/// A folder for the results of a ``PhotoBatch``, with a record of the photo behind each result.
///
/// An existing file is replaced only by a result of the same photo, and only if the file is
/// unchanged since this program wrote it. All other files stay, unless the folder was opened to
/// overwrite. The record is a hidden file in the folder; it also says what each result was made of,
/// so that a later run can leave out the photos whose results are up to date.
///
/// Results appear completely or not at all. The contents of a result are on the disk before the
/// result gets its name; results that are ready at the same time share one sync of the disk. After
/// a problem that affects every result, such as a full disk, the folder accepts no more results
/// until it is opened again.
public final class OutputFolder: Sendable, CustomStringConvertible {
    /// The reason why a folder cannot be used for results, as a sentence that says what to do.
    public struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
        /// The reason, as a sentence.
        public let description: String
    }

    /// The folder's path as given; bytes that are not UTF-8 are escaped.
    public var description: String { path.description }

    let path: LocalPath
    private let resolved: LocalPath
    private let overwrites: Bool
    private let canBeUnnamed: Bool
    let calls: FileCalls
    private let state: Mutex<State>
    /// Runs one round of publishing at a time; results that become ready during a round wait for
    /// the next round.
    let publishing: Operations.OperationQueue

    /// The file of the log. Only rounds of publishing use the file, so the lock is never contended.
    private let logFile: Mutex<ResultLogFile>

    private struct State {
        var log: ResultLog
        /// The results that became ready since the last round of publishing began.
        var ready: [ReadyResult] = []
        /// The first problem that affects every other file too.
        var problem: FileProblem?
    }

    /// Opens a folder; creates it if necessary.
    ///
    /// Blocks while it accesses the disk.
    ///
    /// - Parameters:
    ///   - path: an absolute path, or a path relative to the process's working folder.
    ///   - overwrites: whether to replace files that are not results of the same photo. A photo in
    ///     the folder is never replaced by its own result.
    public convenience init(_ path: String, overwrites: Bool = false) throws(Problem) {
        try self.init(path: Array(path.utf8), overwrites: overwrites)
    }

    /// Opens a folder whose path may contain bytes that are not UTF-8.
    public convenience init(path: [UInt8], overwrites: Bool = false) throws(Problem) {
        try self.init(path: path, overwrites: overwrites, calls: .system)
    }

    /// Opens a folder to find out which results are up to date; neither creates nor changes
    /// anything.
    ///
    /// Blocks while it accesses the disk. ``PhotoBatch/run(_:only:report:)`` must not be called
    /// with such a folder.
    public convenience init(readingOnly path: [UInt8]) throws(Problem) {
        try self.init(path: path, overwrites: false, calls: .system, writes: false)
    }

    init(
        path: [UInt8], overwrites: Bool, calls: FileCalls, writes: Bool = true
    ) throws(Problem) {
        let path = try Self.checked(path)
        if writes {
            do throws(FileProblem) {
                _ = try StagedFile.makeFolder(path)
                try Self.probe(path, calls: calls)
            } catch {
                throw Problem(error)
            }
        }
        self.path = path
        self.resolved = path.resolved ?? path
        self.overwrites = overwrites
        self.calls = calls
        self.canBeUnnamed = writes && StagedFile.canNameUnnamedFiles(in: path, calls: calls)
        do throws(ResultLog.Problem) {
            let (log, file) = try ResultLog.read(in: path)
            state = Mutex(State(log: log))
            logFile = Mutex(file)
        } catch {
            throw Problem(path, error)
        }
        publishing = Operations.OperationQueue()
        publishing.name = "Results queue"
        publishing.maxConcurrentOperationCount = 1
    }

    // MARK: Checks in advance

    /// Checks whether a folder can be written to, without creating it.
    ///
    /// Allocates some disk space in the folder, or in its nearest existing parent, and releases it
    /// again. Blocks while it accesses the disk.
    public static func check(_ path: [UInt8]) throws(Problem) {
        let path = try checked(path)
        var existing = path
        var status = stat()
        while existing.withCString({ stat($0, &status) }) != 0 {
            guard errno == ENOENT, existing != .workingFolder, existing != .root else {
                throw Problem(FileProblem(path, errno: errno))
            }
            existing = existing.folder ?? .workingFolder
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw Problem(FileProblem(existing, errno: ENOTDIR))
        }
        do throws(FileProblem) { try probe(existing, calls: .system) } catch {
            throw Problem(error)
        }
    }

    private static func checked(_ path: [UInt8]) throws(Problem) -> LocalPath {
        guard let path = LocalPath(bytes: path) else {
            throw Problem(
                description: "The path of the results folder is empty or contains a zero byte.")
        }
        return path
    }

    /// Writes and removes more bytes than the remains of a disk that is too full for pictures.
    private static func probe(_ folder: LocalPath, calls: FileCalls) throws(FileProblem) {
        let bytes = [UInt8](repeating: 0x5A, count: 64 << 10)
        do throws(FileProblem) {
            _ = try StagedFile(bytes, at: folder.appending("classicphotos".utf8), calls: calls)
        } catch {
            throw error.about(folder)
        }
    }

    /// Whether this folder is the given folder or lies inside it.
    public func isInside(_ folder: URL) -> Bool {
        guard let other = LocalPath(folder)?.resolved else { return false }
        return resolved == other || resolved.suffix(below: other) != nil
    }

    /// Returns the photos of a list that are not results of this folder.
    ///
    /// - Throws: ``Problem`` if a photo lies in the folder but is not a result: originals and
    ///   results must not be mixed.
    public func recordsWithoutResults(
        of records: [PhotoRecord]
    ) throws(Problem) -> [PhotoRecord] {
        var originals: [PhotoRecord] = []
        var rest: [PhotoRecord] = []
        for record in records {
            guard let place = place(of: record) else {
                rest.append(record)
                continue
            }
            let isResult = state.withLock {
                $0.log.hasResult(place.name, byteCount: place.byteCount)
            }
            if !isResult { originals.append(record) }
        }
        guard originals.isEmpty else {
            let others = originals.count == 1 ? "" : " and \(originals.count - 1) more"
            throw Problem(
                description:
                    "\(self) contains originals: \(quoted(originals[0].name))\(others). "
                    + "Choose another folder, so that no original is replaced.")
        }
        guard !rest.isEmpty else {
            throw Problem(
                description:
                    "There is nothing to process. All photos are results of earlier runs in \(self)."
            )
        }
        return rest
    }

    /// Reads the log again if other processes may have extended it.
    func rereadLog() {
        let file = path.appending(ResultLog.fileName.utf8)
        let known = state.withLock { $0.log.byteCount }
        guard case .file(let byteCount)? = try? LocalFiles.kind(of: file, named: "log"),
            byteCount != known, let (log, _) = try? ResultLog.read(in: path)
        else { return }
        state.withLock { $0.log = log }
    }

    /// A photo's path in this folder and its size in bytes; nil if the photo lies elsewhere.
    private func place(of record: PhotoRecord) -> (name: ArraySlice<UInt8>, byteCount: Int)? {
        guard let url = record.url, url.isFileURL, let file = LocalPath(url)?.resolved,
            let name = file.suffix(below: resolved)
        else { return nil }
        guard case .file(let byteCount)? = try? LocalFiles.kind(of: file, named: record.name) else {
            return (name, -1)
        }
        return (name, byteCount)
    }

    // MARK: Results of earlier runs

    /// The version of the photo that a result was made of, if the result is still in the folder and
    /// was made with the given recipe; nil if the result must be made again.
    func madeOf(_ path: OutputPath, from source: URL, recipe: UInt64) -> String? {
        let newest = state.withLock {
            $0.log.newest(path.relativePath, from: source, recipe: recipe)
        }
        guard let newest else { return nil }
        let kind = try? LocalFiles.kind(of: path.path, named: path.description)
        return kind == .file(byteCount: newest.byteCount) ? newest.photo : nil
    }

    // MARK: Results

    /// The first problem that affects every other file too, such as a full disk; nil if there is
    /// none.
    var problem: FileProblem? { state.withLock { $0.problem } }

    /// The number of results that wait for the next round of publishing, for tests.
    var readyCount: Int { state.withLock { $0.ready.count } }

    /// Puts a result into the folder; returns once the result has its name and is on the disk.
    ///
    /// - Throws: the failure to write the file, or `cancelled` after a problem that affects every
    ///   file.
    func write(
        _ bytes: [UInt8], to path: OutputPath, from origin: ResultOrigin
    ) async throws(PhotoStageStop) {
        if problem != nil { throw .cancelled }
        let file: StagedFile
        do throws(FileProblem) {
            let folder = try openFolder(for: path)
            // Checked here before the bytes are written, and again when the file gets its name.
            _ = try mayReplace(path, in: folder, from: origin.url)
            file = try StagedFile(
                bytes, at: path.path, in: folder, canBeUnnamed: canBeUnnamed, calls: calls)
            if let modified = origin.version?.modified { file.setTime(modified) }
        } catch {
            throw stop(for: error)
        }
        let entry = ResultLog.Entry(
            result: path.relativePath, origin: origin, byteCount: bytes.count,
            checksum: fnv1a(bytes))
        if let problem = await publish(file, at: path, entry) { throw stop(for: problem) }
    }

    /// Waits for a round of publishing, which logs a result and gives its file the name.
    ///
    /// - Parameter file: nil if only the log line is to be written.
    /// - Returns: nil if that succeeded.
    func publish(
        _ file: StagedFile?, at path: OutputPath, _ entry: ResultLog.Entry
    ) async -> FileProblem? {
        await withCheckedContinuation { continuation in
            let result = ReadyResult(
                file: file, path: path, entry: entry, continuation: continuation)
            let isFirst = state.withLock { state in
                state.ready.append(result)
                return state.ready.count == 1
            }
            // A round publishes its first result together with all results that arrive before the
            // round begins.
            if isFirst {
                let round = Operations.BlockOperation { self.publishReady() }
                round.name = "Publish"
                publishing.addOperation(round)
            }
        }
    }

    /// The failure of the photo, or `cancelled` if an earlier result already reported the problem
    /// that ends the batch.
    func stop(for problem: FileProblem) -> PhotoStageStop {
        guard problem.affectsAllFiles else { return .failed(problem.failure) }
        let isFirst = state.withLock { state in
            defer { state.problem = state.problem ?? problem }
            return state.problem == nil
        }
        return isFirst ? .failed(problem.failure) : .cancelled
    }

    /// Runs one round: syncs the contents to the disk, then appends the log lines, then sets the
    /// names.
    private func publishReady() {
        var rest = state.withLock { state in
            defer { state.ready = [] }
            return state.ready
        }
        rest = Self.keep(rest) { result throws(FileProblem) in try result.file?.sync() }
        do throws(FileProblem) {
            let entries = rest.map(\.entry)
            try log(entries)
        } catch {
            for result in rest { result.end(error) }
            return
        }
        rest = Self.keep(rest) { result throws(FileProblem) in try publish(result) }
        var folders: Set<LocalPath> = []
        for result in rest {
            guard let file = result.file else { continue }
            folders.formUnion(file.folder.madeFolders)
            if let folder = result.path.path.folder { folders.insert(folder) }
        }
        for folder in folders {
            let code = calls.syncFolder(folder)
            guard code == 0 else {
                for result in rest { result.end(FileProblem(folder, errno: code)) }
                return
            }
        }
        for result in rest { result.end(nil) }
    }

    private func log(_ entries: [ResultLog.Entry]) throws(FileProblem) {
        let missing = state.withLock { $0.log.missing(of: entries) }
        try logFile.withLock { file throws(FileProblem) in
            try file.append(missing, calls: calls)
        }
        state.withLock { $0.log.add(missing) }
    }

    /// Runs a step for each result; returns the results for which the step succeeds, and ends the
    /// others.
    private static func keep(
        _ results: [ReadyResult], _ step: (ReadyResult) throws(FileProblem) -> Void
    ) -> [ReadyResult] {
        results.filter { result in
            do throws(FileProblem) {
                try step(result)
                return true
            } catch {
                result.end(error)
                return false
            }
        }
    }

    private func publish(_ result: ReadyResult) throws(FileProblem) {
        guard let file = result.file else { return }
        for _ in 0..<3 {
            let replacing = try mayReplace(
                result.path, in: file.folder, from: result.entry.origin.url)
            switch try file.publish(replacing: replacing) {
            case .done: return
            // Another program took the name first; check that program's file.
            case .nameIsTaken: continue
            }
        }
        throw FileProblem(
            refusal: "Another program keeps creating \(result.path). Stop that program, or choose "
                + "another folder.")
    }

    /// Opens the folder of a result; creates it and its missing parents.
    ///
    /// - Throws: ``FileProblem``, also if a link below this folder would lead out of it.
    func openFolder(for path: OutputPath) throws(FileProblem) -> OpenFolder {
        try OpenFolder(path.path.folder ?? self.path, below: self.path)
    }

    /// Whether there is a file to replace.
    ///
    /// - Parameter folder: the folder of the file.
    /// - Throws: ``FileProblem`` if the file must not be replaced.
    func mayReplace(
        _ path: OutputPath, in folder: OpenFolder, from source: URL
    ) throws(FileProblem) -> Bool {
        guard let status = folder.name(path.path.name).status else {
            guard errno == ENOENT || errno == ENOTDIR else {
                throw FileProblem(path, errno: errno)
            }
            return false
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw FileProblem(
                refusal: "\(path) cannot be written: a folder with that name exists.")
        }
        var original = stat()
        if source.isFileURL, let file = LocalPath(source),
            file.withCString({ stat($0, &original) }) == 0,
            original.st_dev == status.st_dev, original.st_ino == status.st_ino
        {
            throw FileProblem(
                refusal: "\(path) is the original photo. Choose another folder.")
        }
        if overwrites { return true }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FileProblem(
                refusal: "\(path) exists and was not written by this program. Move it, or choose "
                    + "another folder.", existing: path)
        }
        let byteCount = Int(status.st_size)
        let checksums = state.withLock {
            $0.log.checksums(of: path.relativePath, from: source, byteCount: byteCount)
        }
        guard !checksums.isEmpty,
            let bytes = try? LocalFiles.bytes(
                of: LocalFile(path.path, in: self.path), named: path.description),
            checksums.contains(fnv1a(bytes))
        else {
            throw FileProblem(
                refusal:
                    "\(path) exists, but is not a result of this photo or was changed later. Move "
                    + "it, or choose another folder.", existing: path)
        }
        return true
    }
}

/// A staged result that waits for its name.
private struct ReadyResult: Sendable {
    /// Nil if only the log line is to be written.
    let file: StagedFile?
    let path: OutputPath
    let entry: ResultLog.Entry
    let continuation: CheckedContinuation<FileProblem?, Never>

    /// Resumes the waiting stage.
    ///
    /// - Parameter problem: nil if the result has its name.
    func end(_ problem: FileProblem?) { continuation.resume(returning: problem) }
}

extension OutputFolder.Problem {
    fileprivate init(_ problem: FileProblem) { self.init(description: problem.message) }

    fileprivate init(_ folder: LocalPath, _ problem: ResultLog.Problem) {
        let file = folder.appending(ResultLog.fileName.utf8)
        switch problem {
        case .unreadable(let error):
            self.init(description: "\(error). This file records the results in \(folder).")
        case .newer(let version):
            self.init(
                description:
                    "\(file) was written by a newer version of this program (format "
                    + "\(version); this version supports format 1). Use the newer version, or "
                    + "choose another folder.")
        }
    }
}

extension FileProblem {
    /// The failure of the photo whose result could not be written.
    var failure: PhotoFailure {
        PhotoFailure(
            stage: .write, reason: message, isRetryable: true,
            cause: existing.map { .init(.fileExists, ["path": $0]) })
    }
}
