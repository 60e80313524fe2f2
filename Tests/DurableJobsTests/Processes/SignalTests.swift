#if DurableJobs
import DurableJobs
import Operations
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if ServiceLifecycle
import Logging
import ServiceLifecycle
import UnixSignals
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

/// Sends signals to its own process, and runs until it is cancelled, or for ever.
private struct Signaled: Job {
    static let name = "signaled"
    var count: Int

    func perform(in context: JobContext) async throws -> NoOutput {
        for _ in 0..<count {
            kill(getpid(), SIGTERM)
            // The system makes one signal of two that are pending together. Nothing tells a job
            // that its worker has received the first one, so time has to pass.
            try? await Task.sleep(for: .milliseconds(200))
        }
        // The worker cancels this sleep, or ends the process.
        try await Task.sleep(for: .seconds(3600))
        return NoOutput()
    }

    static func runWorker(_ path: String, grace: Duration) async throws {
        let queue = try await JobQueue("tests", in: .file(path))
        var options = JobWorker.Options()
        options.gracePeriod = grace
        let worker = JobWorker(
            queue, performing: [Signaled.self], on: OperationQueue(), options: options)
        try await worker.run(stoppingOn: [SIGTERM])
        await queue.close()
    }
}

#if ServiceLifecycle
extension Signaled {
    /// Runs a worker as a service of a group, which gets the signal.
    static func runService(_ path: String, grace: Duration) async throws {
        let queue = try await JobQueue("tests", in: .file(path))
        var options = JobWorker.Options()
        options.gracePeriod = grace
        let worker = JobWorker(
            queue, performing: [Signaled.self], on: OperationQueue(), options: options)
        try await ServiceGroup(
            services: [worker], gracefulShutdownSignals: [.sigterm], logger: Logger(label: "test")
        ).run()
        await queue.close()
    }
}
#endif

@Suite(.timeLimit(.minutes(15)))
struct SignalTests {
    #if ServiceLifecycle
    @Test func aWorkerThatIsAServiceHandsJobsBack() async throws {
        try await withFolder { folder in
            let path = "\(folder)/jobs.sqlite"
            let queue = try await JobQueue("tests", in: .file(path))
            var handles: [JobHandle<NoOutput>] = []
            for _ in 0..<10 { handles.append(try await queue.enqueue(Signaled(count: 1))) }
            await #expect(processExitsWith: .success) { [path = path as String] in
                try await Signaled.runService(path, grace: .milliseconds(300))
            }
            for handle in handles {
                let info = try #require(try await queue.info(handle.id))
                #expect(info.state == .available && info.error == nil && info.host == nil)
            }
            await queue.close()
        }
    }
    #endif

    @Test func theFirstSignalHandsJobsBack() async throws {
        try await withFolder { folder in
            let path = "\(folder)/jobs.sqlite"
            let queue = try await JobQueue("tests", in: .file(path))
            let handle = try await queue.enqueue(Signaled(count: 1))
            await #expect(processExitsWith: .success) { [path = path as String] in
                try await Signaled.runWorker(path, grace: .milliseconds(300))
            }
            let info = try #require(try await queue.info(handle.id))
            #expect(info.state == .available && info.attempt == 1 && info.error == nil)
            #expect(info.host == nil)
            await queue.close()
        }
    }

    @Test func theSecondSignalEndsTheProcess() async throws {
        try await withFolder { folder in
            let path = "\(folder)/jobs.sqlite"
            let queue = try await JobQueue("tests", in: .file(path))
            let handle = try await queue.enqueue(Signaled(count: 2))
            await #expect(processExitsWith: .signal(SIGTERM)) { [path = path as String] in
                try await Signaled.runWorker(path, grace: .seconds(3600))
            }
            let info = try #require(try await queue.info(handle.id))
            #expect(info.state == .running && info.host?.isEmpty == false)
            await queue.close()
        }
    }
}
#endif
