public import FoundationEssentials
public import Operations
import Synchronization

/// Downloads a photo's bytes from an http, https or file URL; cancelling closes the connection.
public final class DownloadOperation: TypedOperation<[UInt8]>, @unchecked Sendable {
    private let found: Found

    /// Creates a download that begins when a queue starts it.
    public convenience init(url: URL, with downloader: PhotoDownloader) {
        self.init(url: url, with: downloader, unless: nil)
    }

    /// Creates a download that is cancelled if the photo still has a known version.
    ///
    /// - Parameter known: the text of a ``PhotoVersion``; nil to download in any case.
    init(url: URL, with downloader: PhotoDownloader, unless known: String?) {
        let found = Found()
        self.found = found
        super.init { () async throws -> [UInt8] in
            guard let content = try await downloader.content(of: url, unless: known) else {
                found.state.withLock { $0.isUnchanged = true }
                throw PhotoStageStop.cancelled
            }
            found.state.withLock { $0.version = content.version }
            return content.bytes
        }
        name = "Download \(PhotoURL.name(of: url))"
    }

    /// The version of the downloaded photo; nil until the operation has succeeded.
    public var version: PhotoVersion? { found.state.withLock { $0.version } }

    /// Whether the operation ended without bytes because the photo has the known version.
    var isUnchanged: Bool { found.state.withLock { $0.isUnchanged } }

    private final class Found: Sendable {
        let state = Mutex((version: PhotoVersion?.none, isUnchanged: false))
    }
}
