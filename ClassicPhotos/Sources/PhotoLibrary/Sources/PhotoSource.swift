@_spi(ClassicPhotos) public import PhotoPipeline

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The origin of a list of photos, as a person names it.
public enum PhotoSource: Sendable, Hashable {
    /// A folder of pictures; read it with
    /// ``PhotoList/read(folder:named:enteringSubfolders:followingLinks:limits:)``.
    case folder(URL)
    /// A list, or a single picture; read it with ``PhotoList/read(file:named:limits:)``.
    case file(URL)
    /// A list or a single picture on the web.
    ///
    /// Download the bytes, then call ``PhotoList/parse(bytes:named:relativeTo:limits:)`` with the
    /// URL after all redirections.
    case web(URL)

    /// Parses an argument: a path, or a URL with http, https or file.
    ///
    /// Accesses the disk to distinguish folders from files. Call from any thread.
    ///
    /// - Parameters:
    ///   - argument: the argument as typed.
    ///   - folder: the base of relative paths; `nil` for the process's working folder.
    public init(
        argument: String, relativeTo folder: URL? = nil
    ) throws(PhotoSourceError) {
        let scheme =
            argument.contains("://") || argument.lowercased().hasPrefix("file:/")
            ? PhotoURL.scheme(of: argument) : nil
        switch scheme {
        case "http", "https": self = .web(try Self.webURL(argument))
        case "file":
            guard let url = URL(string: argument),
                url.host() ?? "" == "" || url.host() == "localhost"
            else {
                throw .invalidArgument(
                    argument, problem: "\(quoted(argument)) does not name a file on this machine")
            }
            self = try Self.local(
                percentDecoded(url.path(percentEncoded: true)), argument: argument, folder)
        case .some(let scheme):
            throw PhotoSourceError(
                .unsupportedScheme, source: argument,
                problem: "the scheme \(quoted(scheme)) is not supported",
                advice: "use http, https or a path")
        case .none:
            self = try Self.local(Array(argument.utf8), argument: argument, folder)
        }
    }

    /// Accepts a path of bytes that are not UTF-8, which no `String` can represent.
    ///
    /// Accesses the disk to distinguish folders from files. Call from any thread.
    public init(path: [UInt8]) throws(PhotoSourceError) {
        self = try Self.local(path, argument: displayText(path), nil)
    }

    private static func webURL(_ argument: String) throws(PhotoSourceError) -> URL {
        do throws(PhotoURLProblem) {
            return try PhotoURL.resolve(argument, relativeTo: nil)
        } catch {
            throw .invalidArgument(argument, problem: error.message)
        }
    }

    private static func local(
        _ path: [UInt8], argument: String, _ folder: URL?
    ) throws(PhotoSourceError) -> PhotoSource {
        guard !path.isEmpty else {
            throw .invalidArgument("source", problem: "the argument is empty")
        }
        let url: URL
        if let text = String(validating: path, as: UTF8.self) {
            url = URL(filePath: text, directoryHint: .notDirectory, relativeTo: folder).absoluteURL
        } else {
            let base = folder ?? URL(filePath: ".", directoryHint: .isDirectory)
            let isAbsolute = path.first == UInt8(ascii: "/")
            guard let start = isAbsolute ? LocalPath.root : LocalPath(base) else {
                throw .invalidArgument(argument, problem: "its base folder has an invalid path")
            }
            url = start.appending(path.drop { isAbsolute && $0 == UInt8(ascii: "/") }).url
        }
        guard let place = LocalPath(url) else {
            throw .invalidArgument(argument, problem: "the name contains a zero byte")
        }
        // Links are followed here: a person who names a link means its target.
        switch try LocalFiles.kind(of: place, followingLinks: true, named: argument) {
        case .folder:
            return .folder(
                url.hasDirectoryPath ? url : url.appending(path: "", directoryHint: .isDirectory))
        case .file: return .file(url)
        case .link, .other:
            throw PhotoSourceError(
                .notReadable, source: argument, problem: "this is neither a file nor a folder",
                advice: Self.validSources)
        }
    }

    fileprivate static let validSources = "specify a list, a folder, a picture or a URL"
}

extension PhotoSourceError {
    fileprivate static func invalidArgument(
        _ argument: String, problem: String
    ) -> PhotoSourceError {
        PhotoSourceError(
            .notFound, source: argument, problem: problem, advice: PhotoSource.validSources)
    }
}
