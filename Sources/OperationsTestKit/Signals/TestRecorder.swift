import OperationsRuntime

/// A list of events that several operations record, in order.
///
/// For queues of a ``TestScheduler`` and for others.
public final class TestRecorder<Event: Sendable>: Sendable {
    private struct Waiter {
        let number: Int
        let count: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var events: [Event] = []
        var nextNumber = 0
        var waiters: [Waiter] = []
        var cancelled: Set<Int> = []
    }

    private let state = Locked(State())

    /// Makes an empty recorder.
    public init() {}

    /// All events recorded so far.
    public var events: [Event] { state.withLock { $0.events } }

    /// Adds an event.
    public func record(_ event: Event) {
        let woken = state.withLock { state in
            state.events.append(event)
            let count = state.events.count
            defer { state.waiters.removeAll { $0.count <= count } }
            return state.waiters.filter { $0.count <= count }
        }
        for waiter in woken { waiter.continuation.resume() }
    }

    /// Suspends the task until at least `count` events have been recorded, or until the task is
    /// cancelled.
    ///
    /// - Returns: the events recorded by then.
    @discardableResult
    public func wait(for count: Int) async -> [Event] {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    let isCancelled = state.cancelled.remove(number) != nil
                    if isCancelled || state.events.count >= count { return true }
                    state.waiters.append(
                        Waiter(number: number, count: count, continuation: continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter: Waiter? = state.withLock { state in
                guard let index = state.waiters.firstIndex(where: { $0.number == number }) else {
                    state.cancelled.insert(number)
                    return nil
                }
                return state.waiters.remove(at: index)
            }
            waiter?.continuation.resume()
        }
        return events
    }
}
