#if DurableJobs
import DurableJobFiles
import DurableJobs
import Operations
import OperationsTestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// Writes a word that differs at each attempt to a staged file, and returns the word.
struct WriteWord: Job {
    static let name = "write word"
    var path: String
    /// The jobs that must have completed before.
    var dependencies: [JobID] = []

    func perform(in context: JobContext) async throws -> String {
        for id in dependencies {
            let state = try await context.queue.info(id)?.state
            guard state == .completed else {
                throw PermanentFailure("job \(id) is \(state?.description ?? "lost")")
            }
        }
        let word = "\(UInt64.random(in: .min ... .max))"
        let staged = try context.stagedFile(for: path)
        try Data(word.utf8).write(to: URL(filePath: staged))
        return word
    }
}

/// Processes that share one file, some of which are killed.
@Suite(.timeLimit(.minutes(5)))
struct CrashTests {
    private func options(lease: Duration = .seconds(1)) -> JobWorker.Options {
        var options = JobWorker.Options()
        options.lease = lease
        return options
    }

    /// Enqueues jobs, of which every tenth depends on the nine before.
    private func enqueue(
        _ count: Int, in queue: JobQueue, _ folder: String
    ) async throws -> [JobHandle<String>] {
        var handles: [JobHandle<String>] = []
        for index in 0..<count {
            let isDependent = index % 10 == 9
            let before = isDependent ? Array(handles.suffix(9)) : []
            var graph = JobGraph()
            let node = graph.add(
                WriteWord(path: "\(folder)/\(index)", dependencies: before.map(\.id)),
                after: before)
            handles.append(try await queue.enqueue(graph)[node])
        }
        return handles
    }

    private func check(
        _ handles: [JobHandle<String>], in queue: JobQueue, _ folder: String
    ) async throws {
        for (index, handle) in handles.enumerated() {
            let word = try await handle.value
            #expect(try String(contentsOfFile: "\(folder)/\(index)", encoding: .utf8) == word)
        }
        #expect(try await queue.counts() == [.completed: handles.count])
        try await queue.removeStagedFiles(in: folder)
        let staged = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/.stage")
        #expect(staged.allSatisfy { $0.hasPrefix("folder-") })
    }

    /// Runs a worker in the calling process, which is a child of the test, until it is killed.
    static func runUntilKilled(_ path: String, after time: Duration) async throws {
        let queue = try await JobQueue("tests", in: .file(path).withFiles())
        let operations = OperationQueue()
        operations.maxConcurrentOperationCount = 4
        var options = JobWorker.Options()
        options.lease = .seconds(1)
        let worker = JobWorker(
            queue, performing: [WriteWord.self], on: operations, options: options)
        Task {
            // The moment is the point of the test; there is no event to wait for.
            try await Task.sleep(for: time)
            kill(getpid(), SIGKILL)
        }
        try await worker.run()
    }

    @Test func killedWorkersLoseNothingAndPublishNothingTwice() async throws {
        try await withFolder { folder in
            let path = "\(folder)/jobs.sqlite"
            let queue = try await JobQueue("tests", in: .file(path).withFiles())
            let handles = try await enqueue(400, in: queue, folder)
            for _ in 0..<3 {
                let time = Int.random(in: 20...400)
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    [path = path as String, time = time as Int] in
                    try await Self.runUntilKilled(path, after: .milliseconds(time))
                }
            }
            try await withWorker(queue, [WriteWord.self], options: options()) { _ async throws in
                try await check(handles, in: queue, folder)
            }
            await queue.close()
        }
    }

    private func expectKilled(_ path: String) async {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            try await Self.runUntilKilled(path, after: .milliseconds(700))
        }
    }

    @Test func twoProcessesShareOneFile() async throws {
        try await withFolder { folder in
            let path = "\(folder)/jobs.sqlite"
            let queue = try await JobQueue("tests", in: .file(path).withFiles())
            let handles = try await enqueue(400, in: queue, folder)
            async let child: Void = expectKilled(path)
            try await withWorker(queue, [WriteWord.self], options: options()) { _ async throws in
                try await check(handles, in: queue, folder)
            }
            await child
            await queue.close()
        }
    }

    @Test func jobStartsElsewhereAfterItsWorkerWasKilled() async throws {
        try await withFolder { folder in
            let path = "\(folder)/jobs.sqlite"
            let queue = try await JobQueue("tests", in: .file(path).withFiles())
            let job = WaitInChild(start: "\(folder)/started")
            let handle = try await queue.enqueue(job)
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
                try await WaitInChild.runWorker(path)
            }
            let options = options(lease: .seconds(3))
            try await withWorker(queue, [WaitInChild.self], options: options) { _ async throws in
                #expect(try await handle.value == 2)
            }
            await queue.close()
        }
    }
}

/// Kills its process at the first attempt, and returns the number of the attempt at the second.
struct WaitInChild: Job {
    static let name = "wait in child"
    var start: String

    func perform(in context: JobContext) async throws -> Int {
        if context.attempt == 1 { kill(getpid(), SIGKILL) }
        return context.attempt
    }

    static func runWorker(_ path: String) async throws {
        let queue = try await JobQueue("tests", in: .file(path).withFiles())
        var options = JobWorker.Options()
        options.lease = .seconds(3)
        let worker = JobWorker(
            queue, performing: [WaitInChild.self], on: OperationQueue(), options: options)
        try await worker.run()
    }
}
#endif
