public import FoundationEssentials
public import Operations

/// Downloads a photo's bytes from an http, https or file URL; cancelling closes the connection.
public final class DownloadOperation: TypedOperation<[UInt8]>, @unchecked Sendable {
    /// Creates a download that begins when a queue starts it.
    public init(url: URL, with downloader: PhotoDownloader) {
        super.init { () async throws -> [UInt8] in try await downloader.bytes(of: url) }
        name = "Download \(PhotoURL.name(of: url))"
    }
}
