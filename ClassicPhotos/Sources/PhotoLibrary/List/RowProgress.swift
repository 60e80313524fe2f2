public import PhotoPipeline
import Synchronization

/// How much of the photo of a row has arrived.
public struct RowProgress: Sendable, Hashable {
    /// The row.
    public let row: Row
    /// The number of bytes so far, and the announced size.
    public let progress: DownloadProgress
}

/// The progress of a session's downloads that has not been sent to its page.
///
/// The downloads report from their threads. A session is told only of the first report after each
/// sending, and of steps of at least a 64th of a photo, so that many small parts cost it nothing.
/// All methods are thread-safe.
final class ProgressTable: Sendable {
    private struct Download {
        /// The number of watchers: the list's own attempts, and requests for the single photo.
        var watchers = 0
        /// The bytes at the last step; nil before the first one.
        var step: Int?
    }

    private struct State {
        var downloads: [Row: Download] = [:]
        var unsent: [Row: DownloadProgress] = [:]
    }

    private let state = Mutex(State())

    /// Begins to watch the download of a row's photo. Each call needs one of ``end(_:)``.
    func begin(_ row: Row) {
        state.withLock { $0.downloads[row, default: Download()].watchers += 1 }
    }

    /// Notes the progress of a download; returns whether the session should send it.
    func note(_ progress: DownloadProgress, of row: Row) -> Bool {
        state.withLock { state in
            guard var download = state.downloads[row] else { return false }
            let step = progress.total.map { max($0 / 64, 1) } ?? 64 << 10
            // A download that begins again has fewer bytes than before. Several watchers report the
            // same step.
            let distance = abs(progress.received - (download.step ?? 0))
            guard distance >= step || (distance > 0 && progress.received == progress.total) else {
                return false
            }
            download.step = progress.received
            state.downloads[row] = download
            let isFirst = state.unsent.isEmpty
            state.unsent[row] = progress
            return isFirst
        }
    }

    /// Ends the watching; after the last watcher, progress that has not been sent is dropped.
    ///
    /// - Returns: whether the session was told of progress that has no other watcher.
    @discardableResult
    func end(_ row: Row) -> Bool {
        state.withLock { state in
            guard var download = state.downloads[row] else { return false }
            download.watchers -= 1
            state.downloads[row] = download.watchers > 0 ? download : nil
            guard download.watchers == 0 else { return false }
            state.unsent[row] = nil
            return download.step != nil
        }
    }

    /// Returns the progress since the last call, in the order of the rows.
    func take() -> [RowProgress] {
        let unsent = state.withLock { state in
            defer { state.unsent = [:] }
            return state.unsent
        }
        return unsent.map { RowProgress(row: $0.key, progress: $0.value) }
            .sorted { $0.row < $1.row }
    }
}
