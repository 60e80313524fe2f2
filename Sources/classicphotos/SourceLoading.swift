import ArgumentParser
import FoundationEssentials
import PhotoPipeline

/// A list of photos and what to call it.
struct LoadedSource {
    let title: String
    let list: PhotoList

    /// Reads the source that a person named, or stops with a message.
    init(_ argument: String, with downloader: PhotoDownloader) async throws {
        do {
            switch try PhotoSource(argument: argument) {
            case .folder(let url):
                title = url.lastPathComponent
                list = try await Self.blocking { try PhotoList.read(folder: url, named: argument) }
            case .file(let url):
                title = url.lastPathComponent
                list = try await Self.blocking { try PhotoList.read(file: url, named: argument) }
            case .web(let url):
                title = url.lastPathComponent.isEmpty ? argument : url.lastPathComponent
                let content = try await downloader.content(of: url)
                list = try PhotoList.parse(
                    bytes: content.bytes, named: argument, relativeTo: content.url)
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

    /// A sentence about files that are no photos; nil if there are none.
    var remark: String? {
        switch list.skippedFileCount {
        case 0: nil
        case 1: "1 file is no picture and was passed over."
        case let count: "\(count) files are no pictures and were passed over."
        }
    }

    /// Reading a folder takes a while, and must not hold up a thread that others need.
    private static func blocking(
        _ read: @escaping @Sendable () throws -> PhotoList
    ) async throws -> PhotoList {
        try await Task.detached(priority: .userInitiated) { try read() }.value
    }
}

/// Ends the program with a message and exit code 2: what was asked for cannot be done at all.
struct Stop: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
