import DemoOrigin
import DurableJobFiles
import DurableJobs
import Foundation
import Landscapes
import OperationsTestSupport
import PhotoImaging
import PhotoJobs
import Subprocess
import Testing

/// `work` on a machine that does not see the folder of the results.
///
/// The worker runs in a mount namespace of its own, where an empty file system hides the folder.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct AttachedResultTests {
    // Root needs no other namespace, in which it could not use the files of PostgreSQL.
    private static let unshare =
        (getuid() == 0 ? [] : ["--map-root-user"]) + ["--mount", "sh", "-c"]

    /// Whether this process may make namespaces.
    private static let canHideFolders: Bool = {
        let process = Foundation.Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        process.arguments = unshare + ["mount -t tmpfs none /mnt"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// Whether the program has the faults of durable jobs, as the builds for tests have.
    private static var hasFaults: Bool {
        #if JOB_FAULTS
        true
        #else
        false
        #endif
    }

    /// A folder, a list of photos on a server, and folders for results.
    private struct Place {
        let origin: DemoOriginServer
        let folder: URL
        let list: String
        let count: Int

        init(_ folder: URL, _ origin: DemoOriginServer, count: Int) throws {
            (self.folder, self.origin, self.count) = (folder, origin, count)
            let photos = origin.catalog.entries.filter { $0.kind == .good }.prefix(count)
            let file = folder.appendingPathComponent("photos.txt")
            let lines = photos.map { "\(origin.url)\($0.path)" }
            try Data(lines.joined(separator: "\n").utf8).write(to: file)
            list = file.path
            try FileManager.default.createDirectory(
                at: out, withIntermediateDirectories: true)
        }

        var out: URL { folder.appendingPathComponent("out") }

        func arguments(_ out: URL, _ others: String...) -> [String] {
            ["process", list, "--out", out.path, "--allow-host", "127.0.0.1"] + others
        }

        var requestCount: Int {
            origin.catalog.entries.map { origin.requestCount(for: $0.path) }.reduce(0, +)
        }

        /// The results of a run without a queue.
        func expected() async throws -> [String: Data] {
            let plain = folder.appendingPathComponent("plain")
            let outcome = try await classicphotos(arguments: arguments(plain))
            #expect(outcome.code == .exited(0), "\(outcome.errors)")
            return try contents(of: plain)
        }

        /// Runs a worker that does not see the folder `out` while a closure runs.
        func withBlindWorker(
            on queue: String, _ body: () async throws -> Void
        ) async throws -> (lines: [String], errors: String) {
            let (lines, started) = (Lines(), OperationsTestSupport.Signal())
            let result = try await run(
                .name("unshare"),
                arguments: Arguments(
                    AttachedResultTests.unshare + [
                        "mount -t tmpfs none \"$0\" && exec \"$@\"", out.path, programPath, "work",
                        "--queue", queue, "--lease", "1.5", "--allow-host", "127.0.0.1",
                    ]),
                input: .none, output: .sequence, error: .string(limit: 1 << 16)
            ) { execution in
                async let reading: Void = {
                    for try await line in execution.standardOutput.strings() {
                        lines.append(line)
                        if lines.all.count == 1 { started.send() }
                    }
                }()
                #expect(await started.arrives())
                var failure: (any Error)?
                do { try await body() } catch { failure = error }
                try execution.send(signal: .interrupt)
                try await reading
                if let failure { throw failure }
            }
            #expect(result.terminationStatus == .exited(0))
            return (lines.all, result.standardError)
        }

        /// The number of results that are in a queue.
        func attachments(in queue: String) async throws -> Int {
            let jobs = try await PhotoQueueAddress(queue).open()
            var count = 0
            for job in try await jobs.list(limit: 1000) {
                if try await jobs.attachment(of: job.id) != nil { count += 1 }
            }
            await jobs.close()
            return count
        }
    }

    private func withPlace(
        count: Int, encoding: any PhotoEncoding = JPEGPhotos(),
        _ body: (Place) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            try await withDemoOrigin(.quick, encoding: encoding) { origin in
                try await body(try Place(folder, origin, count: count))
            }
        }
    }

    @Test(.enabled(if: canHideFolders), arguments: QueueKind.allCases)
    func resultsGoThroughTheQueue(_ kind: QueueKind) async throws {
        try await withPlace(count: 60) { place in
            let expected = try await place.expected()
            #expect(expected.count == 60)
            try await kind.withQueue(in: place.folder) { queue in
                let command = place.arguments(place.out, "--no-work", "--queue", queue)
                let (lines, errors) = try await place.withBlindWorker(on: queue) {
                    let outcome = try await classicphotos(arguments: command)
                    #expect(outcome.code == .exited(0), "\(outcome.errors)")
                    #expect(outcome.output.contains("Wrote 60 of 60 photos"))
                    #expect(try contents(of: place.out) == expected)
                    #expect(try await place.attachments(in: queue) == 0)

                    // The worker knows from the job which version of a photo is in the folder.
                    let again = try await classicphotos(arguments: command)
                    #expect(again.output.contains("60 were up to date"), "\(again.output)")
                }
                // The worker is the first to open the queue.
                let address = try PhotoQueueAddress(queue)
                let note =
                    "Note: There was no queue \(address). This worker has made it, and waits for "
                    + "photos that \"process --queue\" stores in it.\n"
                #expect(
                    errors
                        == "\(note)This worker does not see the folder \(place.out.path) of the "
                        + "results. "
                        + "It sends them through the queue.\n")
                #expect(lines.count { $0.hasSuffix(", in the queue") } == 60)
                #expect(lines.last == "Wrote 60 photos. 60 were up to date.")
            }
        }
    }

    /// The command is detached at first. Then it is killed between the rename of a file and the
    /// removal of the bytes from the queue. No photo is processed twice.
    @Test(.enabled(if: canHideFolders && hasFaults))
    func resultsWaitForTheSameCommand() async throws {
        try await withPlace(count: 30) { place in
            let expected = try await place.expected()
            let queue = place.folder.appendingPathComponent("jobs.sqlite").path
            let command = place.arguments(place.out, "--no-work", "--queue", queue)
            let detached = try await run(
                program, arguments: Arguments(command), input: .none, output: .discarded,
                error: .discarded
            ) { execution in
                try await waitForJobs(30, "available", in: queue)
                try execution.send(signal: .interrupt)
            }
            #expect(detached.terminationStatus == .exited(130))
            _ = try await place.withBlindWorker(on: queue) {
                try await waitForJobs(30, "completed", in: queue)
            }
            #expect(try contents(of: place.out).isEmpty)
            #expect(try await place.attachments(in: queue) == 30)

            let requests = place.requestCount
            let killed = try await run(
                program, arguments: Arguments(command),
                environment: .inherit.updating(["DURABLE_JOBS_FAULTS": "die-before-removal"]),
                input: .none, output: .discarded, error: .discarded)
            #expect(killed.terminationStatus == .signaled(9))
            #expect(try !contents(of: place.out).isEmpty)
            #expect(try await place.attachments(in: queue) == 30)

            let outcome = try await classicphotos(arguments: command)
            #expect(outcome.code == .exited(0), "\(outcome.errors)")
            #expect(outcome.output.contains("Wrote 30 of 30 photos"), "\(outcome.output)")
            #expect(try contents(of: place.out) == expected)
            #expect(try await place.attachments(in: queue) == 0)
            #expect(place.requestCount == requests)
            let list = try await classicphotos("jobs", "--queue", queue)
            #expect(list.output == "30 jobs in \(queue): 30 completed.\n")
        }
    }

    @Test(.enabled(if: canHideFolders)) func resultsThatAreTooLargeAreLeftToOthers() async throws {
        try await withPlace(count: 1, encoding: NoisePhotos()) { place in
            let queue = place.folder.appendingPathComponent("jobs.sqlite").path
            let command = place.arguments(place.out, "--format", "png", "--queue", queue)
            let (lines, errors) = try await place.withBlindWorker(on: queue) {
                let detached = try await run(
                    program, arguments: Arguments(command + ["--no-work"]), input: .none,
                    output: .discarded, error: .discarded
                ) { execution in
                    try await waitForJobs(1, "retryable", in: queue)
                    try execution.send(signal: .interrupt)
                }
                #expect(detached.terminationStatus == .exited(130))
            }
            #expect(lines.last == "Wrote 0 photos.")
            #expect(errors.contains(" bytes, and at most 8388608 go through the queue. "))
            let outcome = try await classicphotos(arguments: command)
            #expect(outcome.output.contains("Wrote 1 of 1 photo "), "\(outcome.output)")
        }
    }

    /// A file of somebody else is not replaced, and the result is kept.
    @Test(.enabled(if: canHideFolders)) func filesOfOthersAreNotReplaced() async throws {
        try await withPlace(count: 1) { place in
            let expected = try await place.expected()
            let name = try #require(expected.keys.first)
            let queue = place.folder.appendingPathComponent("jobs.sqlite").path
            let command = place.arguments(place.out, "--no-work", "--queue", queue)
            let file = place.out.appendingPathComponent(name)
            try Data("mine".utf8).write(to: file)
            _ = try await place.withBlindWorker(on: queue) {
                let outcome = try await classicphotos(arguments: command)
                #expect(outcome.code == .exited(1))
                #expect(outcome.errors.contains("exists, but is not a result of this photo"))
            }
            #expect(try Data(contentsOf: file) == Data("mine".utf8))
            try FileManager.default.removeItem(at: file)
            let again = try await classicphotos(arguments: command)
            #expect(again.output.contains("Wrote 1 of 1 photo "), "\(again.output)")
            #expect(try contents(of: place.out) == expected)
        }
    }
}

/// Sends a picture that no format can make small.
private struct NoisePhotos: PhotoEncoding {
    func encoded(_ picture: Landscape) throws -> [UInt8] {
        let side = 1800
        var random = UInt64(1)
        let pixels = (0..<side * side * 3).map { _ -> UInt8 in
            random = random &* 6_364_136_223_846_793_005 &+ 1
            return UInt8(truncatingIfNeeded: random >> 56)
        }
        let bitmap = try Bitmap(size: PixelSize(width: side, height: side), pixels: pixels)
        return try ImageEngine.encode(bitmap, as: .jpeg, quality: 95).bytes
    }
}
