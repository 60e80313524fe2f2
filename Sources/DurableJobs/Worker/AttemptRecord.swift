#if DurableJobs
import OperationsRuntime
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What one run of a job leaves for its worker.
final class AttemptRecord: Sendable {
    /// Why the worker has cancelled the operation.
    enum Interruption: Sendable {
        case leaseLost
        case stopping
        case cancelled(reason: String)
    }

    private struct State: Sendable {
        var begunAt: Duration?
        /// Whether the job was handed back before it began, and must not begin any more.
        var isReturned = false
        var observer: (any JobAttemptObserver)?
        var result: Data?
        var isCompletedByProgram = false
        var interruption: Interruption?
    }

    let job: ClaimedJob
    /// The worker's incarnation, counted from 0.
    let generation: Int
    /// When the worker learned of the claim, since the start of the machine.
    let claimedAt = Machine.timeSinceBoot
    /// The part of the store's extension, if the store has one.
    let part: (any AttemptExtension)?
    private let isLeaseOver: @Sendable () -> Bool
    private let state = Locked(State())

    /// - Parameter isLeaseOver: whether the worker's present lease has ended, by the clock.
    init(
        _ job: ClaimedJob, generation: Int, part: (any AttemptExtension)? = nil,
        isLeaseOver: @escaping @Sendable () -> Bool = { false }
    ) {
        (self.job, self.generation, self.isLeaseOver) = (job, generation, isLeaseOver)
        self.part = part
    }

    /// When the body began, since the start of the machine.
    var begunAt: Duration? { state.withLock { $0.begunAt } }
    var hasBegun: Bool { begunAt != nil }
    var observer: (any JobAttemptObserver)? { state.withLock { $0.observer } }
    var result: Data? { state.withLock { $0.result } }
    /// Whether a transaction of the program has completed the job, if it was committed.
    var isCompletedByProgram: Bool { state.withLock { $0.isCompletedByProgram } }
    var interruption: Interruption? { state.withLock { $0.interruption } }

    /// Whether the attempt is over for the store, or may be. The clock decides: a process that was
    /// stopped may ask before its watchdog notices.
    var isLeaseLost: Bool {
        if case .leaseLost = interruption { true } else { isLeaseOver() }
    }

    /// Begins the attempt, unless the job was handed back.
    func begin(at time: Duration) -> Bool {
        state.withLock { state in
            guard !state.isReturned else { return false }
            state.begunAt = time
            return true
        }
    }

    /// Keeps the attempt from beginning.
    ///
    /// - Returns: false if it has begun.
    func returnUnbegun() -> Bool {
        state.withLock { state in
            guard state.begunAt == nil else { return false }
            state.isReturned = true
            return true
        }
    }

    func observe(by observer: (any JobAttemptObserver)?) {
        state.withLock { $0.observer = observer }
    }

    /// Runs the body of the attempt, which has begun, and keeps its result.
    func run(_ body: @Sendable () async throws -> Data) async throws {
        let result =
            if let observer { try await observer.perform(body) } else { try await body() }
        try part?.bodyReturned()
        state.withLock { $0.result = result }
    }

    /// A transaction of the program has completed the job, and is not committed yet.
    func completedByProgram() { state.withLock { $0.isCompletedByProgram = true } }

    /// Notes why the operation is about to be cancelled; the first reason counts, except that a
    /// lost lease replaces any other.
    func interrupt(_ interruption: Interruption) {
        state.withLock { state in
            if case .leaseLost = interruption { state.interruption = interruption }
            if state.interruption == nil { state.interruption = interruption }
        }
    }
}
#endif
