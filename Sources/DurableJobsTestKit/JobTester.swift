// DurableJobsTestKit: runs durable jobs in tests, in memory, with the clock of a test.

#if DurableJobs
public import DurableJobs
import Operations
public import OperationsTestKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A queue of durable jobs in memory, whose jobs run when the test says so.
///
/// ```swift
/// let scheduler = TestScheduler(seed: 1)
/// let tester = try await JobTester(clock: scheduler.clock, performing: [SendReceipt.self])
/// try await shop.order("tea", jobs: tester.queue)          // the code under test enqueues
/// #expect(try await tester.enqueued(SendReceipt.self).map(\.order) == ["tea"])
/// try await tester.runDueJobs()
/// try scheduler.advance(by: .seconds(86_400))              // a day later
/// try await tester.runDueJobs()
/// ```
///
/// The store is the one of `.file(_:)`, without a file: states, keys, dependencies, retries and
/// delays are the same. The store's time is the test clock, which begins on 1 January 2001. Jobs
/// run one after another in the order in which a worker would claim them, in the calling task.
public final class JobTester: Sendable {
    /// The queue to give to the code under test.
    public let queue: JobQueue
    private let types: [any Job.Type]
    private let values: JobValues

    /// Makes an empty queue.
    ///
    /// - Parameters:
    ///   - name: the name of the queue.
    ///   - clock: the clock of a test scheduler.
    ///   - types: the types of jobs that ``runDueJobs(limit:)`` performs.
    ///   - values: what the jobs get from `JobContext.provided(_:)`.
    ///   - extend: adds to the store what the jobs need, such as `{ $0.withFiles() }` with the
    ///     module `DurableJobFiles`.
    public init(
        _ name: String = "tests", clock: TestClock, performing types: [any Job.Type],
        providing values: JobValues = JobValues(),
        extending extend: (JobStorage) -> JobStorage = { $0 }
    ) async throws {
        let start: Int64 = 978_307_200_000
        let time = SQLiteTime(
            wall: { start + clock.now.offset.milliseconds },
            sinceBoot: { clock.now.offset.milliseconds }, boot: "test")
        let storage = JobStorage("the store in memory") {
            try await SQLiteDatabase(inMemoryWith: time, extension: $0)
        } version: {
            0
        }
        queue = try await JobQueue(name, in: extend(storage))
        (self.types, self.values) = (types, values)
    }

    /// Runs the jobs that are due at the present time of the clock, and those that become due
    /// because of them, until none is left. The clock stands still.
    ///
    /// A job's failure is recorded as a worker would record it. A retry whose back-off is not zero
    /// is due later. The traits of `traits(for:)`, timeouts and deadlines of running
    /// jobs have no effect.
    ///
    /// - Parameter limit: the number of attempts after which the call gives up.
    /// - Returns: the jobs that ran, in their order; a job that was retried more than once.
    /// - Throws: ``JobTesterError/endless(limit:)``.
    @discardableResult
    public func runDueJobs(limit: Int = 10_000) async throws -> [JobID] {
        let stepper = try await JobStepper(
            queue, performing: types, providing: values)
        var ran: [JobID] = []
        while let id = try await stepper.runOne() {
            ran.append(id)
            if ran.count >= limit { throw JobTesterError.endless(limit: limit) }
        }
        return ran
    }

    /// Returns the jobs of a type that have not ended, in the order of their numbers.
    ///
    /// - Throws: an error if the arguments of one of them cannot be decoded.
    public func enqueued<J: Job>(_ type: J.Type) async throws -> [J] {
        try await queue.unfinished(type)
    }
}

/// Why a ``JobTester`` gave up.
public enum JobTesterError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Jobs became due again and again.
    case endless(limit: Int)

    /// A message for people.
    public var description: String {
        switch self {
        case .endless(let limit):
            "\(limit) attempts have run, and jobs are still due: does a job enqueue itself, or retry "
                + "without a back-off?"
        }
    }
}
#endif
