#if PhotoPipeline
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Passes the progress of downloads on to all who watch them.
final class ProgressBoard: Sendable {
    private struct State {
        var watchers: [URL: [Int: DownloadProgress.Handler]] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// Registers a watcher of a URL's download; returns its number.
    func watch(_ url: URL, _ handler: @escaping DownloadProgress.Handler) -> Int {
        state.withLock { state in
            state.last += 1
            state.watchers[url, default: [:]][state.last] = handler
            return state.last
        }
    }

    func end(_ number: Int, of url: URL) {
        let handler = state.withLock { state in
            let handler = state.watchers[url]?.removeValue(forKey: number)
            if state.watchers[url]?.isEmpty == true { state.watchers[url] = nil }
            return handler
        }
        withExtendedLifetime(handler) {}
    }

    func report(_ progress: DownloadProgress, of url: URL) {
        let handlers = state.withLock { $0.watchers[url] }
        guard let handlers else { return }
        for handler in handlers.values { handler(progress) }
    }
}
#endif
