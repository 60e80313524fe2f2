#if DurableJobs
@testable import DurableJobs
import Operations
import OperationsRuntime
import OperationsTestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Jobs that end together with rows of the program.
@Suite(.timeLimit(.minutes(5)))
struct CompletingContractTests {
    private struct Rollback: Error {}

    /// Writes a row, and completes with the number of its attempt in the same transaction.
    private struct Pay: Job {
        static let name = "pay"
        static let defaultTraits: [JobTrait] = [.retry(2)]

        /// What goes wrong in the first attempt.
        enum Trouble: String, Codable {
            case none
            /// The transaction is rolled back, and the attempt fails.
            case rollback
            /// The transaction is rolled back, and nobody notices.
            case silentRollback
            /// The attempt fails after the commit.
            case lateFailure
            /// The result is of another type.
            case otherType
        }

        var trouble = Trouble.none
        var wait: Wait?

        func perform(in context: JobContext) async throws -> Int {
            let database = try context.provided(ProgramDatabase.self)
            let trouble = context.attempt == 1 ? trouble : .none
            if let wait { _ = try await wait.perform(in: context) }
            do {
                try database.write { connection in
                    try connection.execute(
                        "INSERT INTO payment (id) VALUES (\(context.id.rawValue))")
                    if trouble == .otherType {
                        return try context.complete("text", in: connection.transaction)
                    }
                    try context.complete(context.attempt, in: connection.transaction)
                    if trouble == .rollback || trouble == .silentRollback { throw Rollback() }
                }
            } catch is Rollback where trouble == .silentRollback {
                return 99
            }
            if trouble == .lateFailure { throw Rollback() }
            return 99
        }
    }

    private func prepare(_ database: ProgramDatabase) throws {
        // A second row of the same job would be refused.
        try database.write { try $0.execute("CREATE TABLE payment (id BIGINT PRIMARY KEY)") }
    }

    private func rows(_ queue: JobQueue) async throws -> Int64? {
        try await queue.store.database.transaction(.reading) {
            try $0.query("SELECT COUNT(*) FROM payment").first?.integer(0)
        }
    }

    private func options(_ database: ProgramDatabase) -> JobWorker.Options {
        var options = testOptions
        options.values.provide(database)
        return options
    }

    @Test(arguments: StoreKind.allCases)
    func aJobEndsWithTheTransaction(_ kind: StoreKind) async throws {
        try await ProgramDatabase.with(kind) { database, queue in
            try prepare(database)
            let pay = try await queue.enqueue(Pay())
            let receipt = try await queue.enqueue(Echo(text: "receipt"), after: pay)
            try await withWorker(queue, [Pay.self, Echo.self], options: options(database)) {
                _ async throws in
                // What the body returns has no effect.
                #expect(try await pay.value == 1)
                #expect(try await receipt.value == "receipt")
            }
            #expect(try await rows(queue) == 1)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func aJobWhoseTransactionIsRolledBackRunsAgain(_ kind: StoreKind) async throws {
        try await ProgramDatabase.with(kind) { database, queue in
            try prepare(database)
            try await withWorker(queue, [Pay.self], options: options(database)) { _ async throws in
                for trouble in [Pay.Trouble.rollback, .silentRollback] {
                    let pay = try await queue.enqueue(Pay(trouble: trouble))
                    #expect(try await pay.value == 2)
                    #expect(try await queue.info(pay.id)?.attempt == 2)
                }
            }
            #expect(try await rows(queue) == 2)
        }
    }

    /// Nobody would know otherwise that the job has to run again.
    @Test(arguments: StoreKind.allCases)
    func aJobThatIgnoresARollbackFails(_ kind: StoreKind) async throws {
        try await ProgramDatabase.with(kind) { database, queue in
            try prepare(database)
            let pay = try await queue.enqueue(Pay(trouble: .silentRollback), .retry(0))
            try await withWorker(queue, [Pay.self], options: options(database)) { _ async throws in
                let failure = await #expect(throws: JobFailure.self) { try await pay.value }
                #expect(failure?.reason.contains("was not committed") == true)
            }
            #expect(try await rows(queue) == 0)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func aFailureAfterTheCommitChangesNothing(_ kind: StoreKind) async throws {
        try await ProgramDatabase.with(kind) { database, queue in
            try prepare(database)
            let ends = Locked<[JobState]>([])
            let errors = Locked<[String]>([])
            var options = options(database)
            options.observer = { event in
                guard case .ended(_, _, _, let state, let error) = event else { return }
                ends.withLock { $0.append(state) }
                errors.withLock { $0 += error.map { [$0] } ?? [] }
            }
            let pay = try await queue.enqueue(Pay(trouble: .lateFailure))
            try await withWorker(queue, [Pay.self], options: options) { _ async throws in
                #expect(try await pay.value == 1)
            }
            #expect(try await rows(queue) == 1)
            #expect(try await queue.info(pay.id)?.attempt == 1)
            #expect(ends.withLock { $0 } == [.completed])
            #expect(errors.withLock { $0 }.isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func aResultOfAnotherTypeIsRefused(_ kind: StoreKind) async throws {
        try await ProgramDatabase.with(kind) { database, queue in
            try prepare(database)
            let pay = try await queue.enqueue(Pay(trouble: .otherType), .retry(0))
            try await withWorker(queue, [Pay.self], options: options(database)) { _ async throws in
                let failure = await #expect(throws: JobFailure.self) { try await pay.value }
                #expect(failure?.reason.contains("of the type Int, and String was given") == true)
            }
            #expect(try await rows(queue) == 0)
        }
    }

    /// A worker that comes back after its lease, when the job is another's.
    @Test(arguments: StoreKind.allCases)
    func anAttemptThatHasLostItsJobIsFenced(_ kind: StoreKind) async throws {
        try await ProgramDatabase.with(kind) { database, queue in
            try prepare(database)
            let id = try await queue.enqueue(Echo(text: "")).id
            let (first, second) = (try await Ghost(queue), try await Ghost(queue, process: 2))
            let lost = try #require(await first.claim().first)
            _ = try await first.exchange([EndedAttempt(lost.token, .handedBack)])
            let owned = try #require(await second.claim().first)
            let error = #expect(throws: JobError.self) {
                try complete(lost.token, with: "first", database, queue)
            }
            #expect(error == .fenced(id))
            #expect(try await rows(queue) == 0)
            try complete(owned.token, with: "second", database, queue)
            #expect(try await queue.handle(of: Echo.self, id: id).value == "second")
            // A job completes once.
            #expect(throws: JobError.fenced(id)) {
                try database.write { connection in
                    try connection.transaction.perform(queue.store.database, queue.name) {
                        try Completing.complete(owned.token, with: Data("3".utf8), $0)
                    }
                }
            }
            #expect(try await rows(queue) == 1)
        }
    }

    /// The cancellation wins: what the job would have written is rolled back.
    @Test(arguments: StoreKind.allCases)
    func aCancelledJobDoesNotComplete(_ kind: StoreKind) async throws {
        try await ProgramDatabase.with(kind) { database, queue in
            try prepare(database)
            let id = try await queue.enqueue(Echo(text: "")).id
            let ghost = try await Ghost(queue)
            let claimed = try #require(await ghost.claim().first)
            try await queue.cancel(id, because: "a test")
            let error = #expect(throws: JobCancellation.self) {
                try complete(claimed.token, with: "", database, queue)
            }
            #expect(error?.reason == "a test")
            #expect(try await rows(queue) == 0)
            let answer = try await ghost.exchange([
                EndedAttempt(claimed.token, .cancelled(reason: "a test"))
            ])
            #expect(answer.verdicts == [.accepted(.cancelled)])
        }
    }

    /// The worker dies after the commit: others do what follows from the end.
    @Test(arguments: StoreKind.allCases)
    func whatFollowsFromAnEndNeedsNotTheWorkerThatDied(_ kind: StoreKind) async throws {
        try await ProgramDatabase.with(kind) { database, queue in
            try prepare(database)
            let batch = try await queue.enqueue(each: ["a", "b"], .exclusive(by: "key")) {
                Echo(text: $0)
            }
            let first = try #require(await Ghost(queue).claim().first)
            let next = try await queue.enqueue(
                Echo(text: "next"), after: queue.handle(of: Echo.self, id: first.token.job))
            try complete(first.token, with: "done", database, queue)
            #expect(try await queue.store.dueUpkeep(in: "tests").hasUncounted)
            try await withWorker(queue, [Echo.self]) { _ async throws in
                #expect(try await next.value == "next")
                try await batch.finished()
            }
            let counts = try await batch.counts
            #expect(counts.completed == 2 && counts.total == 2)
            #expect(try await queue.counts() == [.completed: 3])
            #expect(try await !queue.store.dueUpkeep(in: "tests").hasUncounted)
        }
    }

    #if DurableJobsPostgres
    /// A worker must not wait for the transaction of one of its jobs.
    @Test func anOpenTransactionStopsNoOtherJob() async throws {
        try await ProgramDatabase.with(.postgres) { database, queue in
            try prepare(database)
            let batch = try await queue.enqueue(each: ["a", "b", "c"]) { Echo(text: $0) }
            let ghost = try await Ghost(queue)
            let claimed = try await ghost.claim(2)
            let (isOpen, mayCommit) = (Signal(), Signal())
            let open = Task {
                try await onThread {
                    Result {
                        try database.write { connection in
                            try connection.transaction.perform(queue.store.database, "tests") {
                                try Completing.complete(
                                    claimed[0].token, with: Data("\"open\"".utf8), $0)
                            }
                            isOpen.send()
                            _ = mayCommit.wait()
                        }
                    }
                }.get()
            }
            #expect(await isOpen.arrives())
            let answer = try await ghost.exchange(
                [EndedAttempt(claimed[1].token, ghost.result("other"))], wanted: 1)
            #expect(answer.verdicts == [.accepted(.completed)])
            #expect(answer.claimed.count == 1)
            _ = try await queue.store.followCompleted(in: "tests")
            mayCommit.send()
            try await open.value
            #expect(try await queue.store.followCompleted(in: "tests") == 1)
            #expect(try await batch.counts.completed == 2)
        }
    }
    #endif

    private func complete(
        _ token: AttemptToken, with text: String, _ database: ProgramDatabase, _ queue: JobQueue
    ) throws {
        try database.write { connection in
            try connection.execute("INSERT INTO payment (id) VALUES (\(token.job.rawValue))")
            try connection.transaction.perform(queue.store.database, queue.name) {
                try Completing.complete(token, with: Data("\"\(text)\"".utf8), $0)
            }
        }
    }
}
#endif
