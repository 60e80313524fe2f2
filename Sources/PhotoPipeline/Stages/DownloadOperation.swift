public import FoundationEssentials
public import Operations
import Synchronization

/// Fetches a photo's bytes: http, https or file.
public final class DownloadOperation: AsyncOperation, PhotoStage, @unchecked Sendable {
    private let url: URL
    private let downloader: PhotoDownloader
    private let stored = Mutex(PhotoStageOutcome<[UInt8]>.pending)

    /// Makes a download that begins when a queue starts it.
    public init(url: URL, with downloader: PhotoDownloader) {
        self.url = url
        self.downloader = downloader
        super.init()
        name = "Download \(url.lastPathComponent)"
    }

    /// The bytes, once they are there.
    public var outcome: PhotoStageOutcome<[UInt8]> { stored.withLock { $0 } }

    /// Does the work; cancelling the operation closes the connection.
    public override func main() async throws {
        do throws(PhotoStageStop) {
            let bytes = try await downloader.bytes(of: url)
            stored.withLock { $0 = .produced(bytes) }
        } catch {
            stored.withLock { $0 = PhotoStageOutcome(stop: error) }
        }
    }
}
