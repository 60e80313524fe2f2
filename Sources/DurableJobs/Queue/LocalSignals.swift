#if DurableJobs
import OperationsRuntime
import Operations

/// Tells the workers and waits of one process at once what its own transactions have changed.
final class LocalSignals: Sendable {
    private struct State {
        var next = 0
        var addListeners: [Int: @Sendable () -> Void] = [:]
        var endListeners: [Int: @Sendable () -> Void] = [:]
        var pauseListeners: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Locked(State())

    /// Calls a function whenever jobs were added, until the returned object is released.
    func add(_ jobsAdded: @escaping @Sendable () -> Void) -> any Sendable {
        add(jobsAdded, \.addListeners)
    }

    /// Calls a function whenever jobs have ended, until the returned object is released.
    func addEnd(_ jobsEnded: @escaping @Sendable () -> Void) -> any Sendable {
        add(jobsEnded, \.endListeners)
    }

    /// Calls a function whenever pauses have changed, until the returned object is released.
    func addPause(_ pausesChanged: @escaping @Sendable () -> Void) -> any Sendable {
        add(pausesChanged, \.pauseListeners)
    }

    func jobsAdded() { for listener in listeners(\.addListeners) { listener() } }

    func jobsEnded() { for listener in listeners(\.endListeners) { listener() } }

    func pausesChanged() { for listener in listeners(\.pauseListeners) { listener() } }

    private typealias Path = WritableKeyPath<State, [Int: @Sendable () -> Void]> & Sendable

    private func add(_ listener: @escaping @Sendable () -> Void, _ path: any Path) -> any Sendable {
        let number = state.withLock { state in
            state.next += 1
            state[keyPath: path][state.next] = listener
            return state.next
        }
        return Registration { [weak self] in
            self?.state.withLock { $0[keyPath: path][number] = nil }
        }
    }

    private func listeners(_ path: any Path) -> [@Sendable () -> Void] {
        state.withLock { Array($0[keyPath: path].values) }
    }
}

/// Calls a function when it is released.
package final class Registration: Sendable {
    private let end: @Sendable () -> Void

    package init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}
#endif
