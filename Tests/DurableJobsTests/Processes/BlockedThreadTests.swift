#if DurableJobs
import Operations
import OperationsRuntime
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

@testable import DurableJobs

/// The threads that a program blocks.
private enum BlockedThreads: String, CaseIterable, Codable {
    case ofSwiftsPool
    case ofWorkers

    /// Blocks all of the threads, and returns when that has happened.
    ///
    /// - Parameter end: ends the bodies that block.
    func block(until end: Latch) {
        let count = Locked(0)
        let areBlocked = Latch()
        let most = self == .ofWorkers ? 512 : ProcessInfo.processInfo.activeProcessorCount
        let body: @Sendable () -> Void = {
            let begun = count.withLock { count in
                count += 1
                return count
            }
            if begun == most { areBlocked.open() }
            end.wait()
        }
        switch self {
        case .ofSwiftsPool: for _ in 0..<4 * most { Task.detached { body() } }
        case .ofWorkers:
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 2 * most
            for _ in 0..<2 * most { queue.addOperation(body) }
        }
        areBlocked.wait()
    }
}

/// Processes whose threads are all blocked, while a worker of theirs has a lease.
@Suite(.timeLimit(.minutes(5)))
struct BlockedThreadTests {
    private static let lease = Duration.seconds(3)

    /// Runs a worker in the calling process. Ends the process: with success when the lease was
    /// renewed for its whole length while the threads were blocked.
    private static func keepLease(_ path: String, while threads: BlockedThreads) async throws {
        let queue = try await JobQueue("tests", in: .file(path))
        var options = JobWorker.Options()
        options.lease = lease
        let worker = JobWorker(
            queue, performing: [Echo.self], on: OperationQueue(), options: options)
        // A thread of the test's own: no other one could look at the store.
        startTestThread {
            guard let connection = try? SQLiteConnection(path: path, isReadOnly: true) else {
                exit(2)
            }
            while Self.leaseEnd(connection) == nil { Machine.pause() }
            threads.block(until: Latch())
            guard let start = Self.leaseEnd(connection) else { exit(2) }
            while let end = Self.leaseEnd(connection), end < start + Self.lease {
                if Machine.timeSinceBoot > end { exit(EXIT_FAILURE) }
                // The store tells nobody about heartbeats.
                Machine.pause()
            }
            exit(EXIT_SUCCESS)
        }
        try await worker.run()
    }

    /// The end of the lease that the store knows.
    private static func leaseEnd(_ connection: SQLiteConnection) -> Duration? {
        let rows = try? connection.statement("SELECT MAX(lease_until) FROM durable_job_worker")
            .rows([])
        return rows?.first?.optionalInteger(0).map { Duration(milliseconds: $0) }
    }

    @Test(arguments: BlockedThreads.allCases)
    fileprivate func leaseIsRenewedWithoutThem(_ threads: BlockedThreads) async throws {
        try await withFolder { folder in
            let path = "\(folder)/jobs.sqlite"
            await #expect(processExitsWith: .success) {
                [path = path as String, threads = threads as BlockedThreads] in
                try await Self.keepLease(path, while: threads)
            }
        }
    }
}
#endif
