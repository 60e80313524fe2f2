import DurableJobs
import Foundation
import Logging
import ServiceLifecycle
import Synchronization
import Testing

import class Operations.OperationQueue

/// The service of the guide of durable jobs.
private struct JobService: Service {
    let worker: JobWorker

    func run() async throws {
        try await withGracefulShutdownHandler {
            try await worker.run()
        } onGracefulShutdown: {
            worker.stop()
        }
    }
}

/// Begins, and ends when the test says so.
private struct Held: Job {
    static let name = "held"
    static let starts = AsyncStream.makeStream(of: Void.self)
    static let ends = AsyncStream.makeStream(of: Void.self)

    func perform(in context: JobContext) async throws -> String {
        Self.starts.continuation.yield()
        for await _ in Self.ends.stream { break }
        return "done"
    }
}

@Suite(.timeLimit(.minutes(15)))
struct JobServiceTests {
    /// The job that runs may end, and the next one stays in the store.
    @Test func workerInServiceGroupStopsWithIt() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let jobs = try await JobQueue(in: .file(folder.appending(path: "jobs.sqlite").path))
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let worker = JobWorker(jobs, performing: [Held.self], on: queue)
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: JobService(worker: worker))],
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
        let running = Task { try await group.run() }
        let first = try await jobs.enqueue(Held())
        for await _ in Held.starts.stream { break }
        let second = try await jobs.enqueue(Held())
        await group.triggerGracefulShutdown()
        Held.ends.continuation.yield()
        try await running.value
        #expect(try await first.value == "done")
        #expect(try await jobs.info(second.id)?.state == .available)
        await jobs.close()
    }
}
