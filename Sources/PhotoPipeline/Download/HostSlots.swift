import Synchronization

/// Limits the simultaneous downloads from each host; further downloads wait in line.
///
/// The wait has no time limit, because a long wait says nothing about the host: earlier downloads
/// may be large files. Cancelling the task ends its wait.
final class HostSlots: Sendable {
    private struct Line {
        var free: Int
        /// In order of arrival. Linear search is fine, because the line is short.
        var waiting: [(number: UInt64, turn: CheckedContinuation<Bool, Never>)] = []
    }

    private struct State {
        var lines: [String: Line] = [:]
        var lastNumber: UInt64 = 0
        /// The numbers of waits that were cancelled before they joined the line.
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
        guard await take(at: host) else { throw CancellationError() }
        defer { giveBack(at: host) }
        return try await body()
    }

    /// Waits for a slot; returns false if the task was cancelled first.
    private func take(at host: String) async -> Bool {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let isTaken = await withTaskCancellationHandler {
            await withCheckedContinuation { turn in
                let answer: Bool? = state.withLock { state in
                    guard state.cancelled.remove(number) == nil else { return false }
                    var line = state.lines[host] ?? Line(free: width)
                    defer { state.lines[host] = line }
                    guard line.free == 0 else {
                        line.free -= 1
                        return true
                    }
                    line.waiting.append((number, turn))
                    return nil
                }
                if let answer { turn.resume(returning: answer) }
            }
        } onCancel: {
            let turn = state.withLock { state -> CheckedContinuation<Bool, Never>? in
                guard
                    let index = state.lines[host]?.waiting.firstIndex(where: { $0.number == number }
                    )
                else {
                    state.cancelled.insert(number)
                    return nil
                }
                return state.lines[host]?.waiting.remove(at: index).turn
            }
            turn?.resume(returning: false)
        }
        // If the cancellation came after the slot was taken, the number is still in the set.
        state.withLock { _ = $0.cancelled.remove(number) }
        return isTaken
    }

    private func giveBack(at host: String) {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard var line = state.lines[host] else { return nil }
            defer { state.lines[host] = line.free == width && line.waiting.isEmpty ? nil : line }
            guard line.waiting.isEmpty else { return line.waiting.removeFirst().turn }
            line.free += 1
            return nil
        }
        next?.resume(returning: true)
    }

    /// The number of tasks that wait for a slot at a host, for tests.
    func waitingCount(at host: String) -> Int {
        state.withLock { $0.lines[host]?.waiting.count ?? 0 }
    }
}
