#if DurableJobs && (DEBUG || JOB_FAULTS)
import DurableJobs
import FoundationEssentials
import Operations
import OperationsTestSupport
import Testing

#if DurableJobsPostgres
import DurableJobsPostgres
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Waits, writes a word that differs at each attempt, waits, and returns the word. Ignores its
/// cancellation, as a body may.
struct SlowWord: Job {
    static let name = "slow word"
    var path: String
    /// The longest of each of its two waits, in milliseconds.
    var longestWait: Int
    /// The jobs that must have completed before.
    var dependencies: [JobID] = []

    func perform(in context: JobContext) async throws -> String {
        for id in dependencies {
            guard try await context.queue.info(id)?.state == .completed else {
                throw PermanentFailure("it began before job \(id) was committed")
            }
        }
        let word = "\(UInt64.random(in: .min ... .max))"
        await pause()
        let staged = try context.stagedFile(for: path)
        try Data(word.utf8).write(to: URL(filePath: staged))
        await pause()
        return word
    }

    /// Takes time in which a fault can strike; there is no event to wait for.
    private func pause() async {
        let time = Duration.milliseconds(Int.random(in: 0...longestWait))
        await Task { try? await Task.sleep(for: time) }.value
    }
}

/// Runs jobs in child processes that are stopped and killed at random, and then checks what has
/// become of the jobs.
final class Nemesis: Sendable {
    static let workerCount = 3
    /// The beginning of the finding that not all jobs ended in time.
    static let unfinished = "jobs are left"

    private let store: String
    private let folder: String
    private let faults: String
    private let longestWait: Int
    private let queue: JobQueue
    private let generator: Locked<SeededGenerator>
    private let isOver = Locked(false)

    /// - Parameters:
    ///   - store: the path of a file, or a URL.
    ///   - faults: the faults of all child processes; see `Faults`.
    ///   - longestWait: the longest of each of a job's two waits, in milliseconds.
    init(
        _ store: String, _ queue: JobQueue, folder: String, faults: String, longestWait: Int,
        seed: UInt64
    ) {
        (self.store, self.queue, self.folder, self.faults) = (store, queue, folder, faults)
        self.longestWait = longestWait
        generator = Locked(SeededGenerator(seed: seed))
    }

    /// Returns what is wrong in the end; nothing if the protocol holds.
    func run(jobs count: Int, atMost limit: Duration) async throws -> [String] {
        try await logCommits()
        let ids = try await enqueue(count)
        let end = ContinuousClock.now + limit
        let isDrained = try await withThrowingTaskGroup(of: Void.self) { group in
            for slot in 0..<Self.workerCount { group.addTask { await self.keepAlive(slot) } }
            let isDrained = try await self.annoy(until: end)
            self.isOver.withLock { $0 = true }
            // A child may start after the others were killed, so this loop kills until all slots
            // have ended. The pause only spaces the signals.
            while self.ended.withLock({ $0 }) < Self.workerCount {
                for slot in 0..<Self.workerCount { self.send(SIGKILL, to: slot) }
                try await Task.sleep(for: .milliseconds(50))
            }
            try await group.waitForAll()
            return isDrained
        }
        var wrong = try await findings(ids)
        if !isDrained { wrong.append("\(Self.unfinished) after \(limit)") }
        return wrong
    }

    // MARK: Workers

    private let ended = Locked(0)
    /// The living child of each slot; nil for a child that ended before its start was noted.
    private let processes = Locked<[Int: Int32?]>([:])

    /// Runs a worker in a child process, and another one whenever the child has ended.
    private func keepAlive(_ slot: Int) async {
        let environment = [
            NemesisWorker.storeVariable: store, "DURABLE_JOBS_FAULTS": faults,
        ]
        while !isOver.withLock({ $0 }) {
            await withCheckedContinuation { continuation in
                do {
                    processes.withLock { _ = $0.removeValue(forKey: slot) }
                    let process = try WorkerProcess.start(
                        test: "NemesisWorker", environment: environment
                    ) { [self] in
                        processes.withLock { $0[slot] = .some(nil) }
                        continuation.resume()
                    }
                    processes.withLock { if !$0.keys.contains(slot) { $0[slot] = process } }
                } catch {
                    Issue.record("a worker does not start: \(error)")
                    isOver.withLock { $0 = true }
                    continuation.resume()
                }
            }
        }
        ended.withLock { $0 += 1 }
    }

    private func send(_ signal: Int32, to slot: Int) {
        if case let process?? = processes.withLock({ $0[slot] }) { kill(process, signal) }
    }

    // MARK: Faults

    /// Stops and kills workers until all jobs have ended; then leaves the workers time to publish.
    ///
    /// The sleeps are part of the test: a stopped worker outlives its lease, and faults come at
    /// moments that no event tells.
    private func annoy(until end: ContinuousClock.Instant) async throws -> Bool {
        while ContinuousClock.now < end {
            let counts = try await queue.counts()
            if counts.allSatisfy({ $0.key.isEnded }) {
                // Longer than a lease and a sweep. A broken protocol does its harm in this time; if
                // there is no harm, there is no event to wait for.
                try await Task.sleep(for: .seconds(3))
                try await waitForPublications()
                return true
            }
            let slot = random(0...(Self.workerCount - 1))
            switch random(0...9) {
            case 0...4:
                send(SIGSTOP, to: slot)
                try await Task.sleep(for: .milliseconds(random(1_000...1_500)))
                send(SIGCONT, to: slot)
            case 5...8: send(SIGKILL, to: slot)
            default: break
            }
            try await Task.sleep(for: .milliseconds(random(50...300)))
        }
        return false
    }

    /// A worker that was killed last may start slowly on a busy machine. Another process publishes,
    /// so there is no event to wait for, and this asks the store again and again.
    private func waitForPublications() async throws {
        let end = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < end {
            if try await queue.store.unpublished(for: .zero).isEmpty { return }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    private func random(_ range: ClosedRange<Int>) -> Int {
        generator.withLock { Int.random(in: range, using: &$0) }
    }

    // MARK: Jobs and checks

    private func enqueue(_ count: Int) async throws -> [JobID] {
        var handles: [JobHandle<String>] = []
        for index in 0..<count {
            let before = index % 10 == 9 ? Array(handles.suffix(9)) : []
            var graph = JobGraph()
            let job = SlowWord(
                path: "\(folder)/\(index)", longestWait: longestWait,
                dependencies: before.map(\.id))
            let node = graph.add(job, after: before)
            handles.append(try await queue.enqueue(graph)[node])
        }
        return handles.map(\.id)
    }

    /// Writes each commit to a table without a unique index.
    private func logCommits() async throws {
        let isFile = !store.hasPrefix("postgres:")
        try await queue.store.database.transaction(.durable) { session in
            _ = try session.query("CREATE TABLE commits (job BIGINT)")
            let insert = "INSERT INTO commits VALUES (NEW.id)"
            if !isFile {
                _ = try session.query(
                    """
                    CREATE FUNCTION log_commit() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN \(insert); RETURN NULL; END $$
                    """)
            }
            _ = try session.query(
                """
                CREATE TRIGGER log_commit AFTER UPDATE OF result ON durable_job
                FOR EACH ROW WHEN (NEW.state = 10)
                \(isFile ? "BEGIN \(insert); END" : "EXECUTE FUNCTION log_commit()")
                """)
        }
    }

    private func findings(_ ids: [JobID]) async throws -> [String] {
        var wrong: [String] = []
        let commits = try await queue.store.database.transaction(.relaxed) { session in
            try session.query("SELECT job, COUNT(*) FROM commits GROUP BY job").map {
                (JobID($0.integer(0)), $0.integer(1))
            }
        }
        for (id, count) in commits where count != 1 {
            wrong.append("job \(id) was committed \(count) times")
        }
        let outcomes = try await queue.store.outcomes(of: ids).ended
        let byID = Dictionary(uniqueKeysWithValues: outcomes.map { ($0.id, $0) })
        for (index, id) in ids.enumerated() {
            guard let outcome = byID[id], outcome.state == .completed,
                let result = outcome.result
            else {
                wrong.append("job \(id) did not complete: \(byID[id]?.error ?? "no end")")
                continue
            }
            if outcome.isUnpublished { wrong.append("the file of job \(id) is not published") }
            let text = try? String(contentsOfFile: "\(folder)/\(index)", encoding: .utf8)
            if "\"\(text ?? "")\"" != String(decoding: result, as: UTF8.self) {
                wrong.append("the file of job \(id) is not the committed one")
            }
        }
        try await queue.removeStagedFiles(in: folder)
        let staged = try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/.stage")
        for name in staged ?? [] { wrong.append("the staged file \(name) is left") }
        return wrong
    }
}

/// The body of the child processes.
struct NemesisWorker {
    static let storeVariable = "DURABLE_JOBS_NEMESIS_STORE"
    static let store = ProcessInfo.processInfo.environment[storeVariable]

    @Test(.enabled(if: store != nil)) func runsUntilKilled() async throws {
        let queue = try await JobQueue("tests", in: Self.storage(try #require(Self.store)))
        let operations = OperationQueue()
        operations.maxConcurrentOperationCount = 4
        var options = JobWorker.Options()
        options.lease = .seconds(1)
        // The workers die often, and not because of the jobs.
        options.deathLimit = .max
        try await JobWorker(queue, performing: [SlowWord.self], on: operations, options: options)
            .run()
    }

    private static func storage(_ store: String) -> JobStorage {
        #if DurableJobsPostgres
        if store.hasPrefix("postgres:") { return .postgres(store) }
        #endif
        return .file(store)
    }
}
#endif
