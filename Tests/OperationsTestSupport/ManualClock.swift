package import Operations
import OperationsRuntime

/// A clock whose time changes only when a test advances it.
package final class ManualClock: Clock {
    package struct Instant: InstantProtocol {
        package var offset = Duration.zero

        package func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration)
        }
        package func duration(to other: Instant) -> Duration { other.offset - offset }
        package static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
    }

    private struct Sleeper {
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant()
        var lastNumber = 0
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Locked(State())

    package init() {}

    package var now: Instant { state.withLock { $0.now } }
    package var minimumResolution: Duration { .nanoseconds(1) }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                begin(number, Sleeper(deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: number)
                if sleeper == nil { state.cancelled.insert(number) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    private func begin(_ number: Int, _ sleeper: Sleeper) {
        typealias Outcome = (end: Result<Void, any Error>?, [CheckedContinuation<Void, Never>])
        let outcome: Outcome = state.withLock { state in
            if state.cancelled.remove(number) != nil { return (.failure(CancellationError()), []) }
            if sleeper.deadline <= state.now { return (.success(()), []) }
            state.sleepers[number] = sleeper
            let count = state.sleepers.count
            let woken = state.watchers.filter { $0.count <= count }.map(\.continuation)
            state.watchers.removeAll { $0.count <= count }
            return (nil, woken)
        }
        if let end = outcome.end { sleeper.continuation.resume(with: end) }
        for watcher in outcome.1 { watcher.resume() }
    }

    /// Waits until at least `count` tasks sleep.
    package func sleepers(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.sleepers.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Waits until no task sleeps. The timer of an operation may end shortly after the operation.
    package func becomesQuiet() async -> Bool {
        await comesTrue { state.withLock { $0.sleepers.isEmpty } }
    }

    package func advance(by duration: Duration) {
        let due: [Sleeper] = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let now = state.now
            let due = state.sleepers.filter { $0.value.deadline <= now }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Waits until at least `count` tasks sleep, and then advances the time.
    package func advance(by duration: Duration, whenSleepers count: Int) async {
        await sleepers(count)
        advance(by: duration)
    }
}

extension OperationQueue {
    /// Makes a queue that takes its time from the clock.
    package convenience init(_ clock: ManualClock, width: Int = -1) {
        self.init()
        time = TimeSource(clock)
        random = RandomSource(seed: 1)
        maxConcurrentOperationCount = width
    }
}
