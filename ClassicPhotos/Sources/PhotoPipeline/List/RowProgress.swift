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
        /// Distinguishes the download from earlier ones of the row.
        let number: Int
        /// The bytes at the last step.
        var step = 0
    }

    private struct State {
        var last = 0
        var downloads: [Row: Download] = [:]
        var unsent: [Row: DownloadProgress] = [:]
    }

    private let state = Mutex(State())

    /// Begins a download; returns its number.
    func begin(_ row: Row) -> Int {
        state.withLock { state in
            state.last += 1
            state.downloads[row] = Download(number: state.last)
            state.unsent[row] = nil
            return state.last
        }
    }

    /// Notes the progress of a download; returns whether the session should send it.
    func note(_ progress: DownloadProgress, of row: Row, _ number: Int) -> Bool {
        state.withLock { state in
            guard var download = state.downloads[row], download.number == number else {
                return false
            }
            let step = progress.total.map { max($0 / 64, 1) } ?? 64 << 10
            // A download that begins again has fewer bytes than before.
            let isStep = abs(progress.received - download.step) >= step
            guard isStep || progress.received == progress.total else { return false }
            download.step = progress.received
            state.downloads[row] = download
            let isFirst = state.unsent.isEmpty
            state.unsent[row] = progress
            return isFirst
        }
    }

    /// Ends a download; progress that has not been sent is dropped.
    func end(_ row: Row, _ number: Int) {
        state.withLock { state in
            guard state.downloads[row]?.number == number else { return }
            state.downloads[row] = nil
            state.unsent[row] = nil
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
