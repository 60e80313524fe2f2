import ArgumentParser
import PhotoImaging
import PhotoLibrary
import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A list of photos and its title.
struct LoadedSource {
    let title: String
    let list: PhotoList
    /// The folders from which the list was made.
    let folders: [URL]
    /// What was named beside other sources, and is none; each as a clause after its name.
    private var unusable: [PhotoSourceError] = []
    private let followsLinks: Bool
    /// The number of raw files that were left out because the person said so.
    private var skippedRawCount = 0
    /// Reads the folder again, which may have no photos any more; nil for all other sources.
    private(set) var rereading: (@Sendable () throws(PhotoSourceError) -> PhotoList)?

    /// Reads the source that the person named; otherwise ends the program with a message.
    ///
    /// - Parameters:
    ///   - skipsRaw: whether to leave out raw files.
    ///   - isChanging: whether a folder may have no photos yet.
    init(
        _ argument: String, enteringSubfolders: Bool = true, followingLinks: Bool = false,
        skippingRaw skipsRaw: Bool = false, isChanging: Bool = false,
        with downloader: PhotoDownloader
    ) async throws {
        let list: PhotoList
        followsLinks = followingLinks
        do {
            let bytes = RawArguments.bytes(of: argument)
            // In messages, a path that is not UTF-8 is shown by its last component, escaped.
            let name = bytes.elementsEqual(argument.utf8) ? argument : nil
            let source =
                name == nil ? try PhotoSource(path: bytes) : try PhotoSource(argument: argument)
            switch source {
            case .folder(let url):
                title = Self.title(of: url, argument)
                let rereading: @Sendable () throws(PhotoSourceError) -> PhotoList = {
                    () throws(PhotoSourceError) in
                    try PhotoList.read(
                        changingFolder: url, named: name, followingLinks: followingLinks
                    ).excludingRawFiles(if: skipsRaw)
                }
                list = try await Self.blocking {
                    guard !isChanging else {
                        return try PhotoList.read(
                            changingFolder: url, named: name, followingLinks: followingLinks)
                    }
                    return try PhotoList.read(
                        folder: url, named: name, enteringSubfolders: enteringSubfolders,
                        followingLinks: followingLinks)
                }
                if isChanging { self.rereading = rereading }
                folders = [url]
            case .file(let url):
                title = Self.title(of: url, argument)
                list = try await Self.blocking { try PhotoList.read(file: url, named: name) }
                folders = []
            case .web(let url):
                title = Self.title(of: url, argument)
                let content = try await downloader.content(of: url)
                list = try PhotoList.parse(
                    bytes: content.bytes, named: argument, relativeTo: content.url)
                folders = []
            }
            self.list = list.excludingRawFiles(if: skipsRaw)
            skippedRawCount = list.records.count - self.list.records.count
        } catch let error as PhotoSourceError {
            throw Stop(error.description, error)
        } catch let error as PhotoStageStop {
            switch error {
            case .failed(let failure): throw Stop("\(argument): \(failure.reasonWithFlag)")
            case .cancelled: throw CancellationError()
            }
        }
    }

    /// Reads all sources and joins them to one list. `-` stands for a list on standard input.
    ///
    /// A shell's `*` also names files and folders beside the photos that contain none. They are
    /// skipped, as those in a folder are, if there is another source.
    ///
    /// - Parameters:
    ///   - skipsRaw: whether to leave out raw files.
    ///   - isZeroSeparated: whether the entries on standard input end with a zero byte.
    init(
        all arguments: [String], enteringSubfolders: Bool, followingLinks: Bool,
        skippingRaw skipsRaw: Bool, excluding patterns: [String],
        isZeroSeparated: Bool, with downloader: PhotoDownloader
    ) async throws {
        var sources: [LoadedSource] = []
        var unusable: [PhotoSourceError] = []
        for argument in arguments {
            if argument == "-" {
                sources.append(try await Self.standardInput(isZeroSeparated: isZeroSeparated))
                continue
            }
            do {
                sources.append(
                    try await LoadedSource(
                        argument, enteringSubfolders: enteringSubfolders,
                        followingLinks: followingLinks, with: downloader))
            } catch let stop as Stop {
                guard let error = stop.cause, error.isWithoutPhotos else { throw stop }
                unusable.append(error)
            }
        }
        if sources.isEmpty, let first = unusable.first { throw Stop(first.description) }
        self.unusable = unusable
        followsLinks = followingLinks
        let hasSeveralFolders = sources.count { !$0.folders.isEmpty } > 1
        let lists = sources.map { source in
            (hasSeveralFolders && !source.folders.isEmpty ? source.title : nil, source.list)
        }
        title = sources.first?.title ?? ""
        folders = sources.flatMap(\.folders)
        let joined = PhotoList.joining(lists)
        let wanted = joined.excluding(patterns)
        if wanted.records.isEmpty {
            throw Stop("There is nothing to process: --exclude leaves out all photos.")
        }
        list = wanted.excludingRawFiles(if: skipsRaw)
        skippedRawCount = wanted.records.count - list.records.count
        if list.records.isEmpty {
            throw Stop("There is nothing to process: --raw skip leaves out all photos.")
        }
    }

    private init(title: String, list: PhotoList) {
        self.title = title
        self.list = list
        folders = []
        followsLinks = false
    }

    private static func standardInput(isZeroSeparated: Bool) async throws -> LoadedSource {
        if Terminal.isInputTerminal {
            throw Stop("\"-\" reads a list from standard input. Pipe a list into the program.")
        }
        let list = try await blocking {
            let limit = PhotoListLimits.standard.bytes
            let bytes = try Terminal.readInput(limit: limit + 1)
            if ImageFormat(detecting: bytes) != nil {
                throw Stop("Standard input contains a picture. \"-\" stands for a list of photos.")
            }
            do throws(PhotoSourceError) {
                let folder = URL(filePath: ".", directoryHint: .isDirectory).absoluteURL
                if isZeroSeparated {
                    return try PhotoList.parse(
                        zeroSeparated: bytes, named: "standard input", relativeTo: folder)
                }
                return try PhotoList.parse(
                    bytes: bytes, named: "standard input", relativeTo: folder)
            } catch {
                throw Stop(error.description)
            }
        }
        return LoadedSource(title: "standard input", list: list)
    }

    /// Sentences about files that are not photos, and about links; nil if there are none.
    var remark: String? {
        let files: String? =
            switch list.skippedFileCount {
            case 0: nil
            case 1: "1 file is not a picture and was skipped."
            case let count: "\(count) files are not pictures and were skipped."
            }
        let links: String? =
            switch list.outwardLinkCount {
            case _ where followsLinks: nil
            case 0: nil
            case 1: "1 link leads out of the folder and was skipped; --follow includes it."
            case let count:
                "\(count) links lead out of the folder and were skipped; --follow includes them."
            }
        let raw: String? =
            switch skippedRawCount {
            case 0: nil
            case 1: "1 raw file was skipped."
            case let count: "\(count) raw files were skipped."
            }
        let sentences = [files, raw, links].compactMap(\.self)
        return sentences.isEmpty ? nil : sentences.joined(separator: " ")
    }

    /// A line for each picture that was skipped because of its format, and for each source that is
    /// none, up to a limit.
    var skippedFileLines: [String] {
        let limit = 20
        let rest = unusable.count - limit
        return unsupportedFileLines(limit)
            + unusable.prefix(limit).map {
                ProgressReport.line("\($0.source): skipped, because \($0.problem).")
            }
            + (rest > 0 ? ["\(rest) more sources were skipped, because they have no photos."] : [])
    }

    private func unsupportedFileLines(_ limit: Int) -> [String] {
        let files = Dictionary(grouping: list.unsupportedFiles, by: \.format)
        return files.sorted { $0.key < $1.key }.flatMap { format, files in
            let reason = files[0].reason
            let lines = files.prefix(limit).map { file in
                "\(ProgressReport.line(file.name)): skipped, because it is \(format), which is not "
                    + "read: \(reason)."
            }
            let rest = files.count - lines.count
            return rest == 0
                ? lines : lines + ["\(rest) more files were skipped, because each is \(format)."]
        }
    }

    private static func title(of url: URL, _ argument: String) -> String {
        url.lastPathComponent.isEmpty ? argument : url.lastPathComponent
    }

    /// Runs a read in a detached task: reading a folder takes a while and must not block the
    /// caller's executor.
    private static func blocking(
        _ read: @escaping @Sendable () throws -> PhotoList
    ) async throws -> PhotoList {
        try await Task.detached(priority: .userInitiated) { try read() }.value
    }
}

extension PhotoList {
    fileprivate func excludingRawFiles(if isWanted: Bool) -> PhotoList {
        isWanted ? excludingRawFiles() : self
    }
}

extension PhotoSourceError {
    /// Whether the source can be read and has no photos.
    fileprivate var isWithoutPhotos: Bool { [.notAList, .noPhotos, .tooLarge].contains(kind) }
}

/// Ends the program with a message and exit code 2: the request cannot be carried out at all.
struct Stop: Error, CustomStringConvertible {
    let description: String
    /// The problem of a source; nil for all others.
    let cause: PhotoSourceError?

    init(_ description: String, _ cause: PhotoSourceError? = nil) {
        self.description = description
        self.cause = cause
    }
}
