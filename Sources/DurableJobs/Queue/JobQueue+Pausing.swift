#if DurableJobs
import Operations
import OperationsRuntime

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A pause of a queue, or of a type of jobs in it.
public struct JobPause: Sendable, Hashable {
    /// The name of the type of jobs; nil if the whole queue is paused.
    public let name: String?
    /// Why, as ``JobQueue/pause(reason:within:)`` got it.
    public let reason: String
    /// Since when, by the store's clock.
    public let since: Date
}

extension JobQueue {
    /// Pauses the queue for all workers on all machines: when the call has returned, no job of the
    /// queue begins until ``resume()``. Jobs that run go on, and jobs may be enqueued.
    ///
    /// The call waits until every worker of the queue has answered, which takes milliseconds, and
    /// up to a second for a worker of another process with a SQLite file. A worker that died is
    /// waited for until its lease ends. The pause stays when this process ends.
    ///
    /// - Parameters:
    ///   - reason: a text for people, which ``explain(_:)`` and ``pauses()`` show.
    ///   - limit: how long to wait for the workers.
    /// - Throws: ``JobError/workersStillBegin(_:)`` if some have not answered in time; the queue is
    ///   paused all the same. Workers of an earlier version of the library never answer: stop them.
    public func pause(
        reason: String = "somebody has paused it", within limit: Duration = .seconds(60)
    ) async throws {
        try await pause(nil, reason, limit)
    }

    /// Pauses a type of jobs, as ``pause(reason:within:)`` pauses all, until
    /// ``resume(_:)``.
    public func pause<J: Job>(
        _ type: J.Type, reason: String = "somebody has paused it",
        within limit: Duration = .seconds(60)
    ) async throws {
        try JobCoding.check(name: J.name)
        try await pause(J.name, reason, limit)
    }

    /// Ends a pause of the whole queue. Types that are paused by themselves stay so. Without a
    /// pause, the call has no effect.
    public func resume() async throws {
        _ = try await setPause(because: nil, of: nil)
    }

    /// Ends a pause of a type of jobs. A pause of the whole queue stays.
    public func resume<J: Job>(_ type: J.Type) async throws {
        _ = try await setPause(because: nil, of: J.name)
    }

    /// Returns what is paused: the queue first, and then types by their names.
    public func pauses() async throws -> [JobPause] {
        try await store.listPauses(in: name).map {
            JobPause(name: $0.name, reason: $0.reason, since: Date(milliseconds: $0.since))
        }
    }

    private func setPause(because reason: String?, of type: String?) async throws -> Int64 {
        let text = reason.map { JobCoding.describe(PermanentFailure($0)) }
        let revision = try await store.setPause(because: text, of: type, in: name)
        store.database.announcePauses(name)
        signals.pausesChanged()
        return revision
    }

    private func pause(_ type: String?, _ reason: String, _ limit: Duration) async throws {
        let revision = try await setPause(because: reason, of: type)
        let end = Machine.timeSinceBoot + limit.limitedForStore
        var pause = Duration.milliseconds(2)
        while true {
            let behind = try await store.workersBehind(revision, in: name)
            guard !behind.isEmpty else { return }
            guard Machine.timeSinceBoot < end else {
                throw JobError.workersStillBegin(
                    behind.map { "\($0.host) (process \($0.process))" })
            }
            try Task.checkCancellation()
            await AutoResetEvent().wait(atMost: pause)
            pause = min(pause * 2, .milliseconds(100))
        }
    }
}
#endif
