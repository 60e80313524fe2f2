import Synchronization

/// Lets a number of downloads from each host run at the same time; the others wait in line.
///
/// A wait has no limit of time, because a long wait says nothing about the host: the downloads in front
/// may be of large files. A wait ends when its task is cancelled.
final class HostSlots: Sendable {
    private struct Line {
        var free: Int
        /// In order of arrival. There are few enough to be searched.
        var waiting: [(number: UInt64, turn: CheckedContinuation<Bool, Never>)] = []
    }

    private struct State {
        var lines: [String: Line] = [:]
        var lastNumber: UInt64 = 0
        /// The numbers of waits that were cancelled before they stood in line.
        var cancelled: Set<UInt64> = []
    }

    private let width: Int
    private let state = Mutex(State())

    /// - Parameter width: how many run at the same time from one host, at least 1.
    init(width: Int) { self.width = max(width, 1) }

    /// Runs a closure when it is its turn at a host.
    ///
    /// - Throws: `CancellationError` if the task was cancelled while it waited, or what `body` throws.
    func withSlot<Value: Sendable>(
        at host: String, _ body: () async throws -> Value
    ) async throws -> Value {
        guard await take(at: host) else { throw CancellationError() }
        defer { giveBack(at: host) }
        return try await body()
    }

    /// False if the task was cancelled first.
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
        // A cancellation that came after the turn has left the number behind.
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

    /// How many tasks wait at a host, for tests.
    func waitingCount(at host: String) -> Int {
        state.withLock { $0.lines[host]?.waiting.count ?? 0 }
    }
}
