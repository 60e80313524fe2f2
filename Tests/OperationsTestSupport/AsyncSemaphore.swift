import OperationsRuntime

/// Limits how many tasks run at a time; tasks wait in the order of their arrival.
final class AsyncSemaphore: Sendable {
    private struct State {
        var permits: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Locked<State>

    init(permits: Int) {
        state = Locked(State(permits: permits))
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isAcquired = state.withLock { state in
                guard state.permits > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.permits -= 1
                return true
            }
            if isAcquired { continuation.resume() }
        }
    }

    func signal() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.permits += 1
            return nil
        }
        next?.resume()
    }
}
