import ArgumentParser
import FoundationEssentials
import PhotoPipeline

/// A list of photos and its title.
struct LoadedSource {
    let title: String
    let list: PhotoList
    /// The folder from which the list was made; nil for all other sources.
    let folder: URL?

    /// Reads the source that the person named; otherwise ends the program with a message.
    init(_ argument: String, with downloader: PhotoDownloader) async throws {
        do {
            let bytes = RawArguments.bytes(of: argument)
            // In messages, a path that is not UTF-8 is shown by its last component, escaped.
            let name = bytes.elementsEqual(argument.utf8) ? argument : nil
            let source =
                name == nil ? try PhotoSource(path: bytes) : try PhotoSource(argument: argument)
            switch source {
            case .folder(let url):
                title = Self.title(of: url, argument)
                list = try await Self.blocking { try PhotoList.read(folder: url, named: name) }
                folder = url
            case .file(let url):
                title = Self.title(of: url, argument)
                list = try await Self.blocking { try PhotoList.read(file: url, named: name) }
                folder = nil
            case .web(let url):
                title = Self.title(of: url, argument)
                let content = try await downloader.content(of: url)
                list = try PhotoList.parse(
                    bytes: content.bytes, named: argument, relativeTo: content.url)
                folder = nil
            }
        } catch let error as PhotoSourceError {
            throw Stop(error.description)
        } catch let error as PhotoStageStop {
            switch error {
            case .failed(let failure): throw Stop("\(argument): \(failure.reason)")
            case .cancelled: throw CancellationError()
            }
        }
    }

    /// A sentence about files that are not photos; nil if there are none.
    var remark: String? {
        switch list.skippedFileCount {
        case 0: nil
        case 1: "1 file is not a picture and was skipped."
        case let count: "\(count) files are not pictures and were skipped."
        }
    }

    /// A line for each picture that was skipped because of its format, up to a limit.
    var unsupportedFileLines: [String] {
        let limit = 20
        let files = Dictionary(grouping: list.unsupportedFiles, by: \.format)
        return files.sorted { $0.key < $1.key }.flatMap { format, files in
            let lines = files.prefix(limit).map { file in
                "\(ProgressReport.line(file.name)): skipped, because it is \(format), which is not "
                    + "supported."
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

/// Ends the program with a message and exit code 2: the request cannot be carried out at all.
struct Stop: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
