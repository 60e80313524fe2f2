import OperationsFoundation
import Synchronization

/// Follows the links of some sites, without asking too much of any of them.
final class Crawler: Sendable {
    /// How the request for a page ended.
    enum Outcome: Sendable {
        case found(attempts: Int)
        case failed(any Error)
    }

    private struct State {
        var seen: Set<URL> = []
        var outcomes: [URL: Outcome] = [:]
    }

    private let queue = OperationQueue(name: "crawler", width: 16)
    private let rate = RateLimit(50, per: .seconds(1), burst: 5, name: "one host")
    private let hosts: Set<String>
    private let limit: Int
    private let state = Mutex(State())

    /// Makes a crawler that stays on the hosts of the first pages.
    init(from pages: [URL], limit: Int) {
        hosts = Set(pages.compactMap(\.host))
        self.limit = limit
        for page in pages { visit(page) }
    }

    /// Waits for all pages. An operation adds the pages to which its page links before it ends, so
    /// the queue is not empty before the last page has come.
    func outcomes() async -> [URL: Outcome] {
        await queue.finished()
        return state.withLock { $0.outcomes }
    }

    private func visit(_ url: URL) {
        guard let host = url.host, hosts.contains(host) else { return }
        let isNew = state.withLock { state in
            state.seen.count < limit && state.seen.insert(url).inserted
        }
        guard isNew else { return }

        // An operation that waits for its host, for a token or for its next attempt takes none of
        // the 16 slots: a slow site does not hold up the others.
        let request = queue.add(
            url.absoluteString, .limited(to: 2, by: host), .rate(rate, by: host),
            .timeout(.seconds(10)), .retry(3, deciding: decide)
        ) { [self] in
            let page = try await fetch(url)
            record(.found(attempts: Operation.current?.attempt ?? 1), of: url)
            for link in page.links { visit(link) }
        }
        queue.add(onFailureOf: request) { [self] error in record(.failed(error), of: url) }
    }

    private func record(_ outcome: Outcome, of url: URL) {
        state.withLock { $0.outcomes[url] = outcome }
    }

    /// Says which errors are worth another attempt, and when.
    private func decide(_ error: any Error) -> RetryDecision {
        switch error {
        case let refusal as Refusal where refusal.isTemporary:
            // All requests to this host wait for as long as the server says, not only this one.
            .retry(after: refusal.retryAfter ?? .zero, closing: rate)
        case is URLError, is OperationTimeout: .retry()
        default: .stop
        }
    }
}
