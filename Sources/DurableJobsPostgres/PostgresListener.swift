#if DurableJobsPostgres
import CDurableJobsLibPQ
import Dispatch
import OperationsRuntime
import DurableJobs
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Listens for notifications on a connection of its own, while anybody watches. If the connection
/// is lost, the listener tries again each second, and tells all watchers.
final class PostgresListener: @unchecked Sendable {
    // Unchecked: `connection` and `source` are used on `thread` only.

    private struct State {
        var next = 0
        var watchers: [Int: (queue: String, call: @Sendable () -> Void)] = [:]
        var isRunning = false
        var isOver = false
    }

    private let target: PostgresTarget
    private let thread = DispatchQueue(label: "DurableJobs.postgres.listener")
    private let state = Locked(State())
    private var connection: OpaquePointer?
    private var source: (any DispatchSourceRead)?

    init(_ target: PostgresTarget) { self.target = target }

    func add(_ queue: String, _ changed: @escaping @Sendable () -> Void) -> any Sendable {
        let (number, isFirst) = state.withLock { state in
            state.next += 1
            state.watchers[state.next] = (queue, changed)
            defer { state.isRunning = true }
            return (state.next, !state.isRunning && !state.isOver)
        }
        if isFirst { thread.async { self.connect() } }
        return Registration { [weak self] in
            self?.state.withLock { $0.watchers[number] = nil }
        }
    }

    func end() {
        state.withLock { $0.isOver = true }
        thread.async { self.disconnect() }
    }

    private func connect() {
        guard !state.withLock({ $0.isOver }) else { return }
        guard let connection = try? target.connect() else { return connectLater() }
        self.connection = connection
        do {
            try PostgresSession(connection).execute("LISTEN \(PostgresNotifier.channel)")
        } catch {
            disconnect()
            return connectLater()
        }
        let source = DispatchSource.makeReadSource(
            fileDescriptor: PQsocket(connection), queue: thread)
        source.setEventHandler { [weak self] in self?.receive() }
        // A descriptor must not be closed before its source has ended. The handler is the last user
        // of the connection.
        nonisolated(unsafe) let ended = connection
        source.setCancelHandler { PQfinish(ended) }
        self.source = source
        source.activate()
        // Notifications may have been sent before.
        tell { _ in true }
    }

    private func connectLater() {
        thread.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in self?.connect() }
    }

    private func receive() {
        guard let connection else { return }
        // The last message of a server and the end of the connection may be one event of Dispatch,
        // after which no other follows. The first call reads the message, the second one the end.
        guard PQconsumeInput(connection) == 1, PQconsumeInput(connection) == 1 else {
            disconnect()
            return connectLater()
        }
        var queues: Set<String> = []
        while let notification = PQnotifies(connection) {
            queues.insert(String(cString: notification.pointee.extra))
            PQfreemem(notification)
        }
        tell { queues.contains($0) }
    }

    private func tell(_ isMeant: (String) -> Bool) {
        for watcher in state.withLock({ Array($0.watchers.values) }) where isMeant(watcher.queue) {
            watcher.call()
        }
    }

    /// Gives the connection up; a new one may be made at once.
    private func disconnect() {
        if let source { source.cancel() } else if let connection { PQfinish(connection) }
        (source, connection) = (nil, nil)
    }
}
#endif
