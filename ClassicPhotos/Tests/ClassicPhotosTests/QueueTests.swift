import Foundation
import OperationsTestSupport
import Subprocess
import Synchronization
import Testing

/// The places of queues that the tests use.
enum QueueKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case file, postgres

    var testDescription: String { rawValue }

    /// Makes an empty queue, calls a closure with its URL, and deletes the queue.
    func withQueue(in folder: URL, _ body: (String) async throws -> Void) async throws {
        guard self == .postgres else {
            return try await body(folder.appendingPathComponent("jobs.sqlite").path)
        }
        let name = "photos_\(UUID().uuidString.prefix(8).lowercased())"
        try await Self.administer("CREATE DATABASE \(name)")
        let result: Swift.Result<Void, any Error>
        do {
            result = .success(try await body(PostgresCluster.url(name)))
        } catch {
            result = .failure(error)
        }
        try await Self.administer("DROP DATABASE \(name) WITH (FORCE)")
        try result.get()
    }

    /// Executes a statement in a database of PostgreSQL; without a URL, in that of the server's
    /// administration.
    static func administer(_ statement: String, in url: String? = nil) async throws {
        let database = try url ?? PostgresCluster.url("postgres")
        let result = try await run(
            .name("psql"), arguments: [database, "-qc", statement],
            output: .discarded, error: .string(limit: 1 << 16))
        #expect(result.terminationStatus == .exited(0), "\(result.standardError)")
    }
}

/// The lines of a process while it runs.
final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    func append(_ line: String) { lines.withLock { $0.append(line) } }

    var all: [String] { lines.withLock { $0 } }

    /// The numbers of the jobs that a worker says it has written.
    var jobs: Set<String> {
        Set(
            all.compactMap {
                $0.hasPrefix("job ") ? $0.split(separator: ":").first.map(String.init) : nil
            })
    }
}

/// `process`, `work` and `jobs` with queues.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct QueueTests {
    /// Runs a worker, calls a closure for each line, and stops the worker when the closure asks for
    /// it or when `stop` ends.
    private func work(
        on queue: String, _ lines: Lines, killedAt limit: Int = .max,
        until stop: OperationsTestSupport.Signal, started: OperationsTestSupport.Signal
    ) async throws -> TerminationStatus {
        let result = try await run(
            program, arguments: ["work", "--queue", queue, "--lease", "1.5"],
            input: .none, output: .sequence, error: .discarded
        ) { execution in
            async let end: Void = {
                _ = await stop.arrives()
                try? execution.send(signal: .interrupt)
            }()
            for try await line in execution.standardOutput.strings() {
                lines.append(line)
                if lines.all.count == 1 { started.send() }
                if lines.all.count == limit { try execution.send(signal: .kill) }
            }
            stop.send()
            await end
        }
        return result.terminationStatus
    }

    /// Two workers and `process` share a batch, and one worker is killed in the middle. The results
    /// are those of a run without a queue.
    @Test(arguments: QueueKind.allCases)
    func killedWorkerLosesNothing(_ kind: QueueKind) async throws {
        try await withTemporaryFolder { folder in
            let source = folder.appendingPathComponent("in")
            let (plain, shared) = (
                folder.appendingPathComponent("plain"), folder.appendingPathComponent("shared")
            )
            try makePictures(200, in: source, side: 96)
            try makePictures(100, in: source.appendingPathComponent("deeper"), side: 96)
            let alone = try await classicphotos("process", source.path, "--out", plain.path)
            #expect(alone.code == .exited(0))
            try await kind.withQueue(in: folder) { queue in
                let (first, second) = (Lines(), Lines())
                let (stopFirst, stopSecond) = (
                    OperationsTestSupport.Signal(), OperationsTestSupport.Signal()
                )
                let (firstStarted, secondStarted) = (
                    OperationsTestSupport.Signal(), OperationsTestSupport.Signal()
                )
                async let killed = work(
                    on: queue, first, killedAt: 12, until: stopFirst, started: firstStarted)
                async let stopped = work(
                    on: queue, second, until: stopSecond, started: secondStarted)
                #expect(await firstStarted.arrives())
                #expect(await secondStarted.arrives())
                let outcome = try await classicphotos(
                    "process", source.path, "--out", shared.path, "--queue", queue)
                #expect(outcome.code == .exited(0), "\(outcome.errors)")
                #expect(outcome.output.contains("Wrote 300 of 300 photos to \(shared.path)"))
                stopSecond.send()
                #expect(try await killed == .signaled(9))
                #expect(try await stopped == .exited(0))
                #expect(first.jobs.isDisjoint(with: second.jobs))
                #expect(!second.jobs.isEmpty)
                let list = try await classicphotos("jobs", "--queue", queue)
                #expect(list.output.hasSuffix(": 300 completed.\n"), "\(list.output)")

                let again = try await classicphotos(
                    "process", source.path, "--out", shared.path, "--queue", queue)
                #expect(again.output.contains("300 were up to date"))
                let unchanged = try await classicphotos("jobs", "list", "--queue", queue)
                #expect(unchanged.output == list.output)
                // On a busy machine, an attempt may lose its lease, and be killed before it has
                // deleted its own file, but after the first run has removed such files.
                #expect(try contents(of: shared) == contents(of: plain))
                let staged = shared.appendingPathComponent(".stage").path
                #expect(!FileManager.default.fileExists(atPath: staged))
            }
        }
    }

    @Test func folderThatWasBegunWithoutAQueueGoesOn() async throws {
        try await withTemporaryFolder { folder in
            let (source, results) = (
                folder.appendingPathComponent("in"), folder.appendingPathComponent("out")
            )
            let queue = folder.appendingPathComponent("jobs.sqlite").path
            try makePictures(5, in: source)
            _ = try await classicphotos("process", source.path, "--out", results.path)
            let times = try FileManager.default.attributesOfItem(
                atPath: results.appendingPathComponent("photo1.jpg").path)
            try makePictures(4, in: source.appendingPathComponent("more"))
            let shared = try await classicphotos(
                "process", source.path, "--out", results.path, "--queue", "file:\(queue)")
            #expect(shared.code == .exited(0), "\(shared.errors)")
            #expect(shared.output.contains("Wrote 4 of 9 photos"))
            #expect(shared.output.contains("5 were up to date"))
            let later = try FileManager.default.attributesOfItem(
                atPath: results.appendingPathComponent("photo1.jpg").path)
            #expect(times[.systemFileNumber] as? Int == later[.systemFileNumber] as? Int)
            let plain = try await classicphotos("process", source.path, "--out", results.path)
            #expect(plain.output.contains("9 were up to date"))
        }
    }

    @Test func ctrlCDetachesAndTheSameCommandAttaches() async throws {
        try await withTemporaryFolder { folder in
            let (source, results) = (
                folder.appendingPathComponent("in"), folder.appendingPathComponent("out")
            )
            let queue = folder.appendingPathComponent("jobs.sqlite").path
            try makePictures(20, in: source)
            let detached = try await run(
                program,
                arguments: [
                    "process", source.path, "--out", results.path, "--no-work", "--queue", queue,
                ],
                input: .none, output: .sequence, error: .discarded
            ) { execution in
                try await waitForJobs(20, "available", in: queue)
                try execution.send(signal: .interrupt)
                var lines: [String] = []
                for try await line in execution.standardOutput.strings() { lines.append(line) }
                return lines
            }
            #expect(detached.terminationStatus == .exited(130))
            let last = try #require(detached.closureResult.last)
            #expect(last.hasPrefix("Wrote 0 of 20 photos"))
            #expect(
                last.contains(
                    "Detached; the other photos stay in the queue. \"classicphotos work --queue "
                        + "\(queue)\" processes them; the same command as before attaches again."))
            let attached = try await classicphotos(
                "process", source.path, "--out", results.path, "--queue", queue)
            #expect(attached.output.contains("Wrote 20 of 20 photos"))
            let list = try await classicphotos("jobs", "--queue", queue)
            #expect(list.output == "20 jobs in \(queue): 20 completed.\n")
        }
    }

    @Test(arguments: QueueKind.allCases)
    func dryRunAsksTheQueueAndStoresNothing(kind: QueueKind) async throws {
        try await withTemporaryFolder { folder in
            try await kind.withQueue(in: folder) { try await checkDryRun(kind, folder, $0) }
        }
    }

    /// A program that may write the table must not control the terminal on which jobs are listed.
    private func checkNamesForTerminals(_ queue: String) async throws {
        try await QueueKind.administer(
            "CREATE TABLE kept AS SELECT id, name, arguments FROM durable_job", in: queue)
        try await QueueKind.administer(
            "UPDATE durable_job SET name = E'odd\\x1B[2J', arguments = '{}'", in: queue)
        let list = try await classicphotos("jobs", "--queue", queue)
        #expect(list.output.contains("odd·[2J"), "\(list.output)")
        #expect(!list.output.contains("\u{1B}"))
        try await QueueKind.administer(
            "UPDATE durable_job j SET name = k.name, arguments = k.arguments "
                + "FROM kept k WHERE k.id = j.id", in: queue)
    }

    private func checkDryRun(_ kind: QueueKind, _ folder: URL, _ queue: String) async throws {
        let (source, results) = (
            folder.appendingPathComponent("in"), folder.appendingPathComponent("out")
        )
        try makePictures(2, in: source)
        let options = ["process", source.path, "--out", results.path, "--queue", queue]
        // The second run would find what the first one made.
        for _ in 0..<2 {
            let early = try await classicphotos(arguments: options + ["--dry-run"])
            #expect(early.code == .exited(0), "\(early.errors)")
            #expect(early.errors.hasPrefix("Note: There is no queue "), "\(early.errors)")
            #expect(early.errors.hasSuffix(". A run would make it.\n"))
            #expect(early.output.contains("Would process 2 of 2 photos."))
        }
        #expect(!FileManager.default.fileExists(atPath: queue))
        let detached = try await run(
            program, arguments: Arguments(options + ["--no-work"]),
            input: .none, output: .discarded, error: .discarded
        ) { execution in
            try await waitForJobs(2, "available", in: queue)
            try execution.send(signal: .interrupt)
        }
        #expect(detached.terminationStatus == .exited(130))
        try makePictures(3, in: source)
        let later = try await classicphotos(arguments: options + ["--dry-run"])
        #expect(later.code == .exited(0), "\(later.errors)")
        for number in 1...2 {
            let line = "Would wait for \(results.path)/photo\(number).jpg, whose job is available"
            #expect(later.output.contains(line))
        }
        #expect(later.output.contains("Would write \(results.path)/photo3.jpg"))
        #expect(
            later.output.hasSuffix(
                "Would process 1 of 3 photos. 2 in the queue already. Nothing was written.\n"))
        let list = try await classicphotos("jobs", "--queue", queue)
        #expect(list.output.hasSuffix(": 2 available.\n"), "\(list.output)")
        if kind == .postgres { try await checkNamesForTerminals(queue) }
        // Other options make other results.
        let other = try await classicphotos(arguments: options + ["--dry-run", "--size", "32"])
        #expect(other.output.contains("Would process 3 of 3 photos."))
    }

    @Test(arguments: QueueKind.allCases)
    func commandMakesTheTables(kind: QueueKind) async throws {
        try await withTemporaryFolder { folder in
            try await kind.withQueue(in: folder) { queue in
                let migrate = ["jobs", "migrate", "--queue", queue]
                let statements = try await classicphotos(arguments: migrate + ["--print"])
                if kind == .file {
                    #expect(statements.code == .exited(2))
                    #expect(statements.errors.hasPrefix("Error: --print is for PostgreSQL."))
                } else {
                    #expect(statements.output.hasPrefix("BEGIN;\nCREATE TABLE durable_job_schema"))
                    #expect(statements.output.hasSuffix(";\nCOMMIT;\n"))
                }
                let missing = try await classicphotos("jobs", "--queue", queue)
                #expect(missing.errors.hasPrefix("Error: There is no queue "), "\(missing.errors)")
                let made = try await classicphotos(arguments: migrate)
                #expect(made.output.hasPrefix("Made the tables of "), "\(made.errors)")
                let version = try #require(made.output.firstMatch(of: /in version (\d+)\./)).1
                let again = try await classicphotos(arguments: migrate)
                #expect(again.output.contains(" have version \(version). There is nothing to do."))
                let json = try await classicphotos(arguments: migrate + ["--json"])
                #expect(json.output == "{\"from\":\(version),\"to\":\(version)}\n")
                let list = try await classicphotos("jobs", "--queue", queue)
                #expect(list.output.hasPrefix("There are no jobs in "), "\(list.errors)")
                guard kind == .postgres else { return }
                let nothing = try await classicphotos(arguments: migrate + ["--print"])
                #expect(nothing.output == "" && nothing.errors.contains("There is nothing to do."))
            }
        }
    }

    @Test func workerSaysThatItMadeTheQueue() async throws {
        try await withTemporaryFolder { folder in
            let queue = folder.appendingPathComponent("typo.sqlite").path
            for isNew in [true, false] {
                let result = try await run(
                    program, arguments: ["work", "--queue", queue], input: .none,
                    output: .sequence, error: .string(limit: 1 << 16)
                ) { execution in
                    for try await line in execution.standardOutput.strings()
                    where line.hasPrefix("Working on ") {
                        try execution.send(signal: .interrupt)
                    }
                }
                #expect(result.terminationStatus == .exited(0))
                #expect(
                    result.standardError
                        == (isNew
                            ? "Note: There was no queue \(queue). This worker has made it, and waits "
                                + "for photos that \"process --queue\" stores in it.\n" : ""))
            }
        }
    }

    @Test func workerThatDoesNotSeeTheFolderLeavesThePhotosToOthers() async throws {
        try await withTemporaryFolder { folder in
            let (source, results) = (
                folder.appendingPathComponent("in"), folder.appendingPathComponent("out")
            )
            let queue = folder.appendingPathComponent("jobs.sqlite").path
            try makePictures(3, in: source)
            let enqueued = try await run(
                program,
                arguments: [
                    "process", source.path, "--out", results.path, "--no-work", "--queue", queue,
                ],
                input: .none, output: .discarded, error: .discarded
            ) { execution in
                try await waitForJobs(3, "available", in: queue)
                try execution.send(signal: .interrupt)
            }
            #expect(enqueued.terminationStatus == .exited(130))
            let moved = folder.appendingPathComponent("moved")
            try FileManager.default.moveItem(at: results, to: moved)
            let blind = try await run(
                program, arguments: ["work", "--queue", queue], input: .none,
                output: .discarded, error: .sequence
            ) { execution in
                var lines: [String] = []
                for try await line in execution.standardError.strings() {
                    lines.append(line)
                    try await waitForJobs(3, "retryable", in: queue)
                    try execution.send(signal: .interrupt)
                }
                return lines
            }
            #expect(blind.terminationStatus == .exited(0))
            #expect(
                blind.closureResult == [
                    "This worker does not see the folder \(results.path) of the results. Mount it "
                        + "at the same path, or start workers on machines that have it."
                ])
            #expect(!FileManager.default.fileExists(atPath: results.path))
            let shown = try await classicphotos("jobs", "explain", "1", "--queue", queue)
            #expect(shown.output.contains("Job 1 ('photo') was postponed, and is tried again in "))
            try FileManager.default.moveItem(at: moved, to: results)
            let outcome = try await classicphotos(
                "process", source.path, "--out", results.path, "--queue", queue)
            #expect(outcome.output.contains("Wrote 3 of 3 photos"))
        }
    }

    @Test func jobsAreListedRetriedCancelledAndPruned() async throws {
        try await withTemporaryFolder { folder in
            let (source, results) = (
                folder.appendingPathComponent("in"), folder.appendingPathComponent("out")
            )
            let queue = folder.appendingPathComponent("jobs.sqlite").path
            func jobs(_ arguments: String...) async throws -> Outcome {
                try await classicphotos(arguments: ["jobs", "--queue", queue] + arguments)
            }
            try makePictures(2, in: source)
            let page = source.appendingPathComponent("page.jpg")
            try Data("<html>".utf8).write(to: page)
            let outcome = try await classicphotos(
                "process", source.path, "--out", results.path, "--queue", queue)
            #expect(outcome.code == .exited(1))
            #expect(outcome.errors.contains("page.jpg: "))
            #expect(outcome.errors.contains("HTML page"))
            let list = try await jobs("list")
            #expect(list.output.contains("discarded   page.jpg: decode: "))
            #expect(list.output.hasSuffix("3 jobs in \(queue): 2 completed, 1 discarded.\n"))
            let id = String(list.output.drop { $0 == " " }.prefix { $0 != " " })
            #expect(try await jobs("show", id).output.contains("was discarded"))
            #expect(
                try await jobs("show", "99").errors == "Error: There is no job 99 in \(queue).\n")

            // What has failed stays, and can be retried.
            #expect(
                try await jobs("prune", "--days", "0").output == "Deleted 2 jobs from \(queue).\n")
            #expect(try await jobs().output.hasSuffix("1 job in \(queue): 1 discarded.\n"))
            #expect(try await jobs("retry", "--failed").output == "Job \(id) is available again.\n")
            let cancelled = try await jobs("cancel", id, "--json")
            #expect(cancelled.output == "{\"id\":\(id),\"state\":\"cancelled\"}\n")
            let refused = try await jobs("cancel", id)
            #expect(refused.code == .exited(1))
            #expect(refused.errors == "Job \(id) has ended: it is cancelled.\n")
            #expect(try await jobs("retry", id).code == .exited(0))
            #expect(
                try await jobs("pause", "--reason", "a full disk").output == "Paused \(queue).\n")
            #expect(
                try await jobs("show", id).output.contains("the queue is paused: a full disk"))
            #expect(try await jobs("resume").output == "Resumed \(queue).\n")
            // The picture is whole now.
            try FileManager.default.removeItem(at: page)
            try FileManager.default.copyItem(
                at: source.appendingPathComponent("photo1.jpg"), to: page)
            let again = try await classicphotos(
                "process", source.path, "--out", results.path, "--queue", queue)
            #expect(again.code == .exited(0), "\(again.errors)")
            #expect(again.output.contains("Wrote 1 of 3 photos"))
            #expect(try await jobs("prune").output == "Deleted 0 jobs from \(queue).\n")
            #expect(
                try await jobs("prune", "--days", "0").output == "Deleted 1 job from \(queue).\n")
            #expect(try await jobs().output == "There are no jobs in \(queue).\n")
            #expect(try await jobs("cancel", "--all").output.hasPrefix("There are no unfinished"))
        }
    }

    @Test func looksFromFilesNeedARunWithoutAQueue() async throws {
        try await withTemporaryFolder { folder in
            let source = folder.appendingPathComponent("in")
            try makePictures(1, in: source)
            let look = folder.appendingPathComponent("look.cube")
            try Data("LUT_1D_SIZE 2\n0 0 0\n1 1 1\n".utf8).write(to: look)
            let queue = folder.appendingPathComponent("jobs.sqlite").path
            let command = [
                "process", source.path, "--out", folder.appendingPathComponent("out").path,
                "--filter", "look=\(look.path)",
            ]
            let refused = try await classicphotos(arguments: command + ["--queue", queue])
            #expect(refused.code == .exited(2))
            #expect(
                refused.errors.hasPrefix("Error: A look from a file cannot be used with a queue"))
            #expect(try await classicphotos(arguments: command).code == .exited(0))
        }
    }

    // MARK: Bad addresses

    @Test(arguments: [
        (
            ["--queue", "mysql://me:secret@host/db"],
            "A queue cannot have a URL with the scheme mysql."
        ),
        (["--queue", ""], "The queue must be postgres://host/database"),
        (
            ["--queue", "none"],
            "This command needs a queue: --queue URL, or the environment variable"
        ),
        ([], "This command needs a queue: --queue URL, or the environment variable"),
    ])
    func invalidAddressesAreExplained(options: [String], message: String) async throws {
        let outcome = try await classicphotos(arguments: ["work"] + options)
        #expect(outcome.code == .exited(64))
        #expect(outcome.errors.contains(message), "\(outcome.errors)")
        #expect(!outcome.errors.contains("secret"))
    }

    @Test func queuesThatCannotBeUsedAreExplained() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appendingPathComponent("notes.txt")
            try Data(String(repeating: "no database ", count: 100).utf8).write(to: file)
            let cases = [
                ("postgres://me:secret@127.0.0.1:1/photos", "Connection refused"),
                (try PostgresCluster.url("no_such"), "createdb -O \"$USER\" no_such"),
                (
                    try PostgresCluster.url("postgres").replacing("tests@", with: "nobody_here@"),
                    "createuser"
                ),
                ("/nowhere/jobs.sqlite", "There is no queue /nowhere/jobs.sqlite. "),
                (file.path, "cannot be used: "),
            ]
            for (queue, message) in cases {
                let outcome = try await classicphotos("jobs", "list", "--queue", queue)
                #expect(outcome.code == .exited(2), "\(queue)")
                #expect(outcome.errors.contains(message), "\(outcome.errors)")
                #expect(outcome.errors.hasPrefix("Error: ") && !outcome.errors.contains("secret"))
                #expect(outcome.output == "")
            }
            let outcome = try await classicphotos("work", "--queue", "/nowhere/jobs.sqlite")
            #expect(outcome.errors.contains("its folder must exist"), "\(outcome.errors)")
        }
    }

    @Test func theEnvironmentNamesTheQueue() async throws {
        try await withTemporaryFolder { folder in
            let queue = folder.appendingPathComponent("jobs.sqlite").path
            let result = try await run(
                program, arguments: ["jobs"],
                environment: .inherit.updating(["CLASSICPHOTOS_QUEUE": queue]),
                output: .string(limit: 1 << 16), error: .string(limit: 1 << 16))
            #expect(
                result.standardError
                    == "Error: There is no queue \(queue). \"process --queue\" makes it.\n")
            #expect(!FileManager.default.fileExists(atPath: queue))
        }
    }
}
