import Synchronization

/// Limits the simultaneous downloads from each host; further downloads wait in a queue.
///
/// The wait has no time limit, because a long wait says nothing about the host: earlier downloads
/// may be large files. Cancelling the task ends its wait.
final class HostSlots: Sendable {
    private struct Host {
        var freeSlots: Int
        /// In order of arrival. Linear search is fine, because the queue is short.
        var waiters: [(number: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private struct State {
        var hosts: [String: Host] = [:]
        var lastNumber: UInt64 = 0
        /// The numbers of waits that were cancelled before they joined the queue.
        var cancelled: Set<UInt64> = []
    }

    private let width: Int
    private let state = Mutex(State())

    /// - Parameter width: the maximum number of simultaneous downloads from one host, at least 1.
    init(width: Int) { self.width = max(width, 1) }

    /// Waits for a slot at a host, then runs a closure.
    ///
    /// - Throws: `CancellationError` if the task is cancelled while it waits, or the error of
    ///   `body`.
    func withSlot<Value: Sendable>(
        at host: String, _ body: () async throws -> Value
    ) async throws -> Value {
        guard await acquire(at: host) else { throw CancellationError() }
        defer { release(at: host) }
        return try await body()
    }

    /// Waits for a slot; returns false if the task was cancelled first.
    private func acquire(at host: String) async -> Bool {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let isAcquired = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let result: Bool? = state.withLock { state in
                    guard state.cancelled.remove(number) == nil else { return false }
                    var entry = state.hosts[host] ?? Host(freeSlots: width)
                    defer { state.hosts[host] = entry }
                    guard entry.freeSlots == 0 else {
                        entry.freeSlots -= 1
                        return true
                    }
                    entry.waiters.append((number, continuation))
                    return nil
                }
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            let continuation = state.withLock { state -> CheckedContinuation<Bool, Never>? in
                let waiters = state.hosts[host]?.waiters
                guard let index = waiters?.firstIndex(where: { $0.number == number }) else {
                    state.cancelled.insert(number)
                    return nil
                }
                return state.hosts[host]?.waiters.remove(at: index).continuation
            }
            continuation?.resume(returning: false)
        }
        // If the cancellation came after the slot was acquired, the number is still in the set.
        state.withLock { _ = $0.cancelled.remove(number) }
        return isAcquired
    }

    private func release(at host: String) {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard var entry = state.hosts[host] else { return nil }
            defer {
                let isUnused = entry.freeSlots == width && entry.waiters.isEmpty
                state.hosts[host] = isUnused ? nil : entry
            }
            guard entry.waiters.isEmpty else { return entry.waiters.removeFirst().continuation }
            entry.freeSlots += 1
            return nil
        }
        next?.resume(returning: true)
    }

    /// The number of tasks that wait for a slot at a host, for tests.
    func waitingCount(at host: String) -> Int {
        state.withLock { $0.hosts[host]?.waiters.count ?? 0 }
    }
}
