#if DurableJobs
import Dispatch
import OperationsRuntime
import Operations

/// Looks every 20 ms whether another connection has changed a file, while anybody waits for it.
final class SQLiteWatch: Sendable {
    private struct State {
        var watchers: [Int: @Sendable () -> Void] = [:]
        var next = 0
        /// Ends the timer.
        var end: (@Sendable () -> Void)?
        var isOver = false
    }

    private let path: String
    private let state = Locked(State())
    private let closed = AutoResetEvent()
    let thread = DispatchQueue(label: "DurableJobs.watch")

    init(path: String) { self.path = path }

    /// Returns an object whose release ends the calls.
    func add(_ changed: @escaping @Sendable () -> Void) -> any Sendable {
        let (number, isFirst) = state.withLock { state in
            state.next += 1
            state.watchers[state.next] = changed
            return (state.next, state.end == nil && !state.isOver)
        }
        if isFirst { thread.async { self.start() } }
        return Registration { [weak self] in self?.state.withLock { $0.watchers[number] = nil } }
    }

    /// Ends the calls, and waits until the watching connection is closed. SQLite deletes the
    /// write-ahead log when the last connection is closed.
    func end() async {
        let end = state.withLock { state in
            state.isOver = true
            return state.end.take()
        }
        guard let end else { return }
        end()
        await closed.wait(atMost: nil)
    }

    /// Opens a connection of its own: it sees the changes of all others, those of this process too.
    private func start() {
        guard state.withLock({ $0.end == nil && !$0.isOver }) else { return }
        guard let connection = try? SQLiteConnection(path: path) else {
            // The workers' polls find changes until then.
            return thread.asyncAfter(deadline: .now() + .milliseconds(500)) { [weak self] in
                self?.start()
            }
        }
        let version = Locked<Int64>(-1)
        // Sources may be cancelled on any thread.
        nonisolated(unsafe) let timer = DispatchSource.makeTimerSource(queue: thread)
        timer.schedule(deadline: .now(), repeating: .milliseconds(20), leeway: .milliseconds(1))
        timer.setEventHandler { [weak self] in
            guard let self, state.withLock({ !$0.watchers.isEmpty }) else { return }
            let rows = try? connection.statement("PRAGMA data_version").rows([])
            guard let now = rows?.first?.integer(0), now != version.withLock({ $0 }) else { return }
            version.withLock { $0 = now }
            for watcher in state.withLock({ Array($0.watchers.values) }) { watcher() }
        }
        timer.setCancelHandler { [closed] in
            connection.close()
            closed.signal()
        }
        let isWanted = state.withLock { state in
            guard !state.isOver else { return false }
            state.end = { timer.cancel() }
            return true
        }
        timer.activate()
        if !isWanted { timer.cancel() }
    }
}
#endif
