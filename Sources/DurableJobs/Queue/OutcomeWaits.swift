#if DurableJobs
import OperationsRuntime
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The tasks of one process that wait for the ends of jobs.
///
/// When a worker of this process has committed a job, it resumes the tasks that wait for the job.
/// For all other jobs, one loop asks the store: about all of them together, after each change of
/// the store, and otherwise at growing intervals up to a quarter of a second.
///
/// No end is missed. A task is registered before the loop asks again, and the loop asks at least
/// once after each registration. So it finds what was committed before the registration, and what
/// is committed later resumes the task or is found by a later question.
final class OutcomeWaits: Sendable {
    private typealias Waiter = CheckedContinuation<JobOutcome, any Error>

    private struct State {
        var waiters: [JobID: [Int: Waiter]] = [:]
        var next = 0
        var cancelled: Set<Int> = []
        var isRunning = false
    }

    private static let longestPause = Duration.milliseconds(250)
    /// A question about one job takes about 10 µs.
    private static let restPerJob = Duration.microseconds(500)

    private let store: JobStore
    private let queue: String
    private let signals: LocalSignals
    private let wakeUp = AutoResetEvent()
    private let state = Locked(State())

    init(_ store: JobStore, queue: String, _ signals: LocalSignals) {
        (self.store, self.queue, self.signals) = (store, queue, signals)
    }

    /// Waits until the end of a job is published.
    func outcome(of id: JobID) async throws -> JobOutcome {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (isCancelled, isFirst) = state.withLock { state in
                    guard state.cancelled.remove(number) == nil else { return (true, false) }
                    state.waiters[id, default: [:]][number] = continuation
                    defer { state.isRunning = true }
                    return (false, !state.isRunning)
                }
                if isCancelled { return continuation.resume(throwing: CancellationError()) }
                // A program may block Swift's own pool.
                if isFirst {
                    Task(executorPreference: PoolExecutor.timers) { await self.poll() }
                }
                wakeUp.signal()
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiters[id]?.removeValue(forKey: number)
                if state.waiters[id]?.isEmpty == true { state.waiters[id] = nil }
                if waiter == nil { state.cancelled.insert(number) }
                return waiter
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Resumes the waits for jobs that a worker of this process has committed, and whose ends are
    /// published.
    func completed(_ results: [JobID: Data]) {
        let outcomes = results.map { id, result in
            JobOutcome(id: id, state: .completed, result: result, error: nil, isUnpublished: false)
        }
        resume(outcomes, unknown: [])
    }

    private func poll() async {
        let local = signals.addEnd { [weak self] in self?.wakeUp.signal() }
        let watch = store.database.watch(queue) { [weak self] in self?.wakeUp.signal() }
        defer { withExtendedLifetime((local, watch)) {} }
        var pause = Duration.milliseconds(5)
        while true {
            let ids = state.withLock { state -> [JobID]? in
                guard state.waiters.isEmpty else { return Array(state.waiters.keys) }
                state.isRunning = false
                return nil
            }
            guard let ids else { return }
            do {
                let (ended, unknown) = try await store.outcomes(of: ids)
                try await sweep(ended)
                let isProgress = resume(ended, unknown: unknown)
                pause = isProgress ? .milliseconds(5) : min(pause * 2, Self.longestPause)
            } catch JobError.closed {
                fail(JobError.closed)
            } catch {
                // The store may come back.
                pause = Self.longestPause
            }
            // A question about many jobs is costly, so one serves several ends.
            let rest = min(Self.restPerJob * ids.count, Self.longestPause)
            await AutoResetEvent().wait(atMost: rest)
            await wakeUp.wait(atMost: pause - rest)
        }
    }

    /// Resumes the waits for published ends, and for jobs that the store does not know.
    ///
    /// - Returns: whether there was any such job.
    @discardableResult
    private func resume(_ ended: [JobOutcome], unknown: [JobID]) -> Bool {
        var isProgress = false
        for outcome in ended where !outcome.isUnpublished {
            for waiter in take(outcome.id) { waiter.resume(returning: outcome) }
            isProgress = true
        }
        for id in unknown {
            for waiter in take(id) { waiter.resume(throwing: JobError.unknownJobs([id])) }
            isProgress = true
        }
        return isProgress
    }

    /// Publishes for a worker that died after its commit; see step 6 of Protocol.md.
    private func sweep(_ ended: [JobOutcome]) async throws {
        let unpublished = ended.filter(\.isUnpublished).map(\.id)
        guard let `extension` = store.extension, !unpublished.isEmpty else { return }
        try await `extension`.sweep(unpublished, of: store, committedBefore: .seconds(15))
    }

    private func take(_ id: JobID) -> [Waiter] {
        state.withLock { Array($0.waiters.removeValue(forKey: id, default: [:]).values) }
    }

    private func fail(_ error: any Error) {
        let waiters = state.withLock { state in
            defer { state.waiters = [:] }
            return state.waiters.values.flatMap(\.values)
        }
        for waiter in waiters { waiter.resume(throwing: error) }
    }
}

extension Dictionary {
    fileprivate mutating func removeValue(forKey key: Key, default value: Value) -> Value {
        removeValue(forKey: key) ?? value
    }
}
#endif
