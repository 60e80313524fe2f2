// jobs measures durable jobs: how fast they are stored, run and started.

import ArgumentParser

#if Jobs
import DurableJobs
import DurableJobsPostgres
import Foundation
import Synchronization

import class Operations.OperationQueue

@main
struct Jobs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "jobs", abstract: "Measures durable jobs in one store.")

    @Option(help: "The folder for a new SQLite file, and for measuring fdatasync.")
    var folder = "/var/tmp"
    @Option(help: "The URL of an empty PostgreSQL database, in place of a SQLite file.")
    var url: String?
    @Option(help: "The number of jobs.")
    var n = 100_000
    @Option(help: "The number of types of jobs, at most 36.")
    var types = 1
    @Option(help: "The number of queued jobs behind which claims are measured again.")
    var queued = 1_000_000
    @Option(help: "The number of jobs that end while an old transaction keeps their rows.")
    var ended = 300_000

    func validate() throws {
        guard 1...NumberedJobs.all.count ~= types, n >= types else {
            throw ValidationError(
                "--types is from 1 to \(NumberedJobs.all.count), and --n at least as much.")
        }
    }

    func run() async throws {
        line("fdatasync of 8 KiB", Fsync.median(in: folder), "ms")
        let path = "\(folder)/jobs-\(getpid()).sqlite"
        defer { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }
        let storage = url.map { JobStorage.postgres($0) } ?? .file(path)
        let jobs = try await JobQueue("first", in: storage)
        line("types", Double(types), "")
        try await enqueue(in: jobs)
        let syncs = try url.map(Server.syncs)
        let count = n / types * types
        try await drain(jobs, "claim and commit, \(count) jobs", count: count)
        if let url, let syncs {
            line("syncs for 40 jobs", Double(try Server.syncs(url) - syncs) * 40 / Double(n), "")
        }
        try await latencies(jobs, jobs, "same process")
        try await latencies(jobs, JobQueue("first", in: storage), "other connection")
        try await behindMany(try jobs.queue("second"))
        if let url, ended > 0 { try await behindOldRows(try jobs.queue("third"), url) }
        await jobs.close()
    }

    private func line(_ name: String, _ value: Double, _ unit: String) {
        print(name.padding(toLength: 52, withPad: " ", startingAt: 0), terminator: "")
        print(String(format: "%12.2f %@", value, unit))
    }

    private func seconds(_ body: () async throws -> Void) async throws -> Double {
        let start = ContinuousClock.now
        try await body()
        return (ContinuousClock.now - start) / .seconds(1)
    }

    // MARK: Enqueuing

    private var nothings: [any NumberedJob.Type] { Array(NumberedJobs.all.prefix(types)) }

    private static func enqueue<J: NumberedJob>(
        _ type: J.Type, _ count: Int, in jobs: JobQueue
    ) async throws {
        try await jobs.enqueue(each: 0..<count, capacity: .max) { J(number: $0) }
    }

    private func enqueue(in jobs: JobQueue) async throws {
        let count = n / types
        let time = try await seconds {
            for type in nothings { try await Self.enqueue(type, count, in: jobs) }
        }
        line("enqueue, chunks of 1,000", Double(n) / time, "jobs/s")
        let other = try jobs.queue("one by one")
        let single = 2_000
        let singleTime = try await seconds {
            for number in 0..<single { try await other.enqueue(OneNothing(number: number)) }
        }
        line("enqueue one by one", Double(single) / singleTime, "jobs/s")
    }

    // MARK: Running

    private func workers(_ jobs: JobQueue, _ count: Int, width: Int) -> [JobWorker] {
        (0..<count).map { _ in
            let operations = OperationQueue()
            operations.maxConcurrentOperationCount = width
            return JobWorker(jobs, performing: nothings + [Start.self], on: operations)
        }
    }

    private func running<Result>(
        _ workers: [JobWorker], _ body: () async throws -> Result
    ) async throws -> Result {
        let runs = workers.map { worker in Task { try await worker.run() } }
        let result = try await body()
        for worker in workers { worker.stop(gracePeriod: .zero) }
        for run in runs { try await run.value }
        return result
    }

    private func drain(_ jobs: JobQueue, _ name: String, count: Int) async throws {
        Countdown.expect(count)
        let time = try await seconds {
            try await running(workers(jobs, 2, width: 32)) {
                await Countdown.finished()
            }
        }
        line(name, Double(count) / time, "jobs/s")
    }

    private func latencies(
        _ jobs: JobQueue, _ producer: JobQueue, _ name: String
    ) async throws {
        try await running(workers(jobs, 1, width: 4)) {
            var times: [Double] = []
            for _ in 0..<200 {
                // The worker is to be idle, and notifications are at least 20 ms apart.
                try await Task.sleep(for: .milliseconds(30))
                let start = ContinuousClock.now
                let handle = try await producer.enqueue(Start())
                let begin = await Start.begun()
                // A job that is handed back at the end would start again.
                _ = try await handle.value
                times.append((begin - start) / .milliseconds(1))
            }
            times.sort()
            line("enqueue → start, \(name), p50", times[100], "ms")
            line("enqueue → start, \(name), p99", times[198], "ms")
        }
    }

    private func behindMany(_ jobs: JobQueue) async throws {
        guard queued > 0 else { return }
        let total = queued
        try await jobs.enqueue(each: 0..<total, capacity: .max) { OneNothing(number: $0) }
        try await drain(jobs, "claim and commit, \(total) queued", count: min(n, total))
        let small = 50
        let alone = try await time(of: small, in: jobs.queue("small"))
        line("a batch of \(small), alone", alone * 1000, "ms")
        let behind = try await time(of: small, in: jobs)
        line("a batch of \(small), behind \(total - min(n, total))", behind * 1000, "ms")
    }

    /// The seconds until a batch has ended, from the addition on.
    private func time(of count: Int, in jobs: JobQueue) async throws -> Double {
        try await running(workers(jobs, 2, width: 32)) {
            // The workers are to be at work, or idle.
            try await Task.sleep(for: .milliseconds(500))
            return try await seconds {
                let batch = try await jobs.enqueue(each: 0..<count, capacity: .max) {
                    OneNothing(number: $0)
                }
                try await batch.finished()
            }
        }
    }

    /// Claims behind rows that the server cannot clear, because a transaction may still see them.
    private func behindOldRows(_ jobs: JobQueue, _ url: String) async throws {
        let transaction = try Server.OldTransaction(url)
        defer { transaction.end() }
        for (count, name) in [(ended, "\(ended) jobs, kept by a transaction"), (n, "behind these")]
        {
            try await jobs.enqueue(each: 0..<count, capacity: .max) { OneNothing(number: $0) }
            try await drain(jobs, "claim and commit, \(name)", count: count)
        }
    }
}

/// What only the server's own program can ask or do.
enum Server {
    /// How often the server has synced its log.
    static func syncs(_ url: String) throws -> Int {
        let process = psql(url, ["-Atc", "SELECT wal_sync FROM pg_stat_wal"])
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return Int(text.filter(\.isNumber)) ?? 0
    }

    /// A transaction that sees the tables as they were at its beginning, until its end.
    struct OldTransaction {
        private let process: Process
        private let input = Pipe()

        init(_ url: String) throws {
            process = psql(url, ["-Atq"])
            let output = Pipe()
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            let start = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 'begun';\n"
            try input.fileHandleForWriting.write(contentsOf: Data(start.utf8))
            _ = output.fileHandleForReading.availableData
        }

        func end() {
            try? input.fileHandleForWriting.close()
            process.waitUntilExit()
        }
    }

    private static func psql(_ url: String, _ arguments: [String]) -> Process {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["psql", "-X", "-d", url] + arguments
        return process
    }
}

/// A job that does nothing.
protocol NumberedJob: Job {
    init(number: Int)
}

typealias OneNothing = Nothing<Digit0, Digit0>

/// Does nothing, with arguments of 200 bytes. Each pair of digits is a type of jobs of its own.
struct Nothing<Tens: Digit, Ones: Digit>: NumberedJob {
    static var name: String { "nothing \(Tens.text)\(Ones.text)" }
    var number: Int
    var padding = String(repeating: "x", count: 165)

    init(number: Int) { self.number = number }

    func perform(in context: JobContext) async throws -> NoOutput {
        Countdown.count()
        return NoOutput()
    }
}

protocol Digit: Sendable { static var text: String { get } }
enum Digit0: Digit { static let text = "0" }
enum Digit1: Digit { static let text = "1" }
enum Digit2: Digit { static let text = "2" }
enum Digit3: Digit { static let text = "3" }
enum Digit4: Digit { static let text = "4" }
enum Digit5: Digit { static let text = "5" }

enum NumberedJobs {
    private static let digits: [any Digit.Type] = [
        Digit0.self, Digit1.self, Digit2.self, Digit3.self, Digit4.self, Digit5.self,
    ]

    static let all = digits.flatMap { tens in digits.map { type(tens, $0) } }

    private static func type<Tens: Digit, Ones: Digit>(
        _: Tens.Type, _: Ones.Type
    ) -> any NumberedJob.Type {
        Nothing<Tens, Ones>.self
    }
}

/// Waits for a number of jobs.
enum Countdown {
    private static let left = Mutex<(count: Int, waiter: CheckedContinuation<Void, Never>?)>(
        (0, nil))

    static func expect(_ count: Int) { left.withLock { $0.count = count } }

    static func count() {
        let waiter = left.withLock { left in
            left.count -= 1
            return left.count == 0 ? left.waiter.take() : nil
        }
        waiter?.resume()
    }

    static func finished() async {
        await withCheckedContinuation { continuation in
            let isDue = left.withLock { left in
                guard left.count > 0 else { return true }
                left.waiter = continuation
                return false
            }
            if isDue { continuation.resume() }
        }
    }
}

/// Notes when it starts.
struct Start: Job {
    private static let starts = AsyncStream.makeStream(of: ContinuousClock.Instant.self)

    static let name = "start"

    func perform(in context: JobContext) async throws -> NoOutput {
        Self.starts.continuation.yield(.now)
        return NoOutput()
    }

    static func begun() async -> ContinuousClock.Instant {
        var iterator = starts.stream.makeAsyncIterator()
        return await iterator.next() ?? .now
    }
}

enum Fsync {
    /// The median time of 100 writes of 8 KiB with fdatasync, in milliseconds.
    static func median(in folder: String) -> Double {
        let path = "\(folder)/fsync-\(getpid())"
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer {
            close(file)
            unlink(path)
        }
        let page = [UInt8](repeating: 1, count: 8192)
        let times = (0..<100).map { _ in
            let start = ContinuousClock.now
            _ = write(file, page, page.count)
            fdatasync(file)
            return (ContinuousClock.now - start) / .milliseconds(1)
        }
        return times.sorted()[50]
    }
}
#else
@main
struct Jobs: ParsableCommand {
    func run() throws {
        throw ValidationError("enable the trait Jobs: swift run --traits Jobs jobs")
    }
}
#endif
