#if DurableJobsPostgres
import DurableJobs
import OperationsRuntime

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Tells watchers of queues about notifications, which it receives on a link. The link listens from
/// the first watcher on.
final class PostgresListener: Sendable {
    private struct State {
        var next = 0
        var watchers: [Int: (queue: String, call: @Sendable () -> Void)] = [:]
        var isListening = false
    }

    private let link: PostgresLink
    private let state = Locked(State())

    init(_ link: PostgresLink) { self.link = link }

    func add(_ queue: String, _ changed: @escaping @Sendable () -> Void) -> any Sendable {
        let (number, isFirst) = state.withLock { state in
            state.next += 1
            state.watchers[state.next] = (queue, changed)
            defer { state.isListening = true }
            return (state.next, !state.isListening)
        }
        if isFirst {
            link.listen(to: PostgresNotifier.channel) { [weak self] queues in self?.tell(queues) }
        }
        return Registration { [weak self] in
            self?.state.withLock { $0.watchers[number] = nil }
        }
    }

    /// - Parameter queues: nil means all of them.
    private func tell(_ queues: Set<String>?) {
        for watcher in state.withLock({ Array($0.watchers.values) })
        where queues?.contains(watcher.queue) ?? true {
            watcher.call()
        }
    }
}
#endif
