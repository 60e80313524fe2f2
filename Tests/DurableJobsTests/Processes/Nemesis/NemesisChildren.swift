#if DurableJobs && JOB_FAULTS
import Dispatch
import Operations
import OperationsRuntime
import OperationsTestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobs

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// Performs the body of a child, and ends the process; also when its driver has ended.
///
/// Not by exit(), which destroys what threads that connect still use: the Kerberos library of libpq
/// then aborts the process.
private func runChild(_ body: (NemesisSettings) async throws -> Void) async throws {
    let driver = NemesisSettings.present?.driver
    startTestThread {
        // There is no portable event for the end of a parent.
        while getppid() == driver { sleep(1) }
        _exit(EXIT_FAILURE)
    }
    do {
        try await body(try #require(NemesisSettings.present))
        _exit(EXIT_SUCCESS)
    } catch {
        _ = Array("\(error)\n".utf8).withUnsafeBytes {
            write(STDERR_FILENO, $0.baseAddress, $0.count)
        }
        _exit(EXIT_FAILURE)
    }
}

/// The body of the child processes that run jobs.
struct NemesisWorker {
    @Test(.enabled(if: NemesisSettings.present?.role == .worker))
    func runsUntilKilled() async throws { try await runChild(run) }

    private func run(_ settings: NemesisSettings) async throws {
        let queue = try await JobQueue("tests", in: NemesisSettings.storage(settings.store))
        let operations = OperationQueue()
        operations.maxConcurrentOperationCount = 4
        let log = RunLog(settings.runs)
        var options = JobWorker.Options()
        options.lease = settings.lease
        options.deathLimit = settings.deathLimit
        options.values.provide(log)
        options.observer = { event in
            if let entry = RunLog.Entry(event) { log.write(entry) }
        }
        log.write(.process(identity: Machine.processIdentity, number: getpid()))
        let isDeployed = access(settings.deployed, F_OK) == 0
        if isDeployed { log.write(.deployed(process: getpid())) }
        let worker = JobWorker(
            queue, performing: isDeployed ? [RenamedWord.self] : [SlowWord.self], on: operations,
            options: options)
        log.worker.withLock { $0 = worker }
        log.noteLease(width: operations.maxConcurrentOperationCount)
        if settings.hasBlockedPools { blockPool(for: settings.lease, log) }
        let pauses = Pauses()
        let termination = stopped(worker, gracePeriod: settings.lease, log, pauses)
        if settings.isMixed {
            Task { await NemesisMixture(settings, queue).enqueueUniqueGroups() }
        }
        try await worker.run()
        log.write(
            .stopped(process: getpid(), time: Machine.timeSinceBoot, pause: pauses.total))
        withExtendedLifetime(termination) {}
    }
}

/// Blocks all threads of Swift's own pool again and again, as a program may, until the process
/// ends.
///
/// Bodies then go on later. The lease, and all that is left of a worker, must not need the pool.
private func blockPool(for lease: Duration, _ log: RunLog) {
    startTestThread {
        while true {
            usleep(UInt32.random(in: 500_000..<3_000_000))
            let time = lease * Double.random(in: 0.5...1.5)
            let start = Machine.timeSinceBoot
            log.write(.blocked(process: getpid(), span: Span(start: start, end: start + time)))
            for _ in 0..<Machine.processorCount {
                Task { usleep(UInt32(time.milliseconds * 1_000)) }
            }
        }
    }
}

/// Stops a worker when the process is asked to end.
private func stopped(
    _ worker: JobWorker, gracePeriod: Duration, _ log: RunLog, _ pauses: Pauses
) -> any DispatchSourceSignal {
    signal(SIGTERM, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGTERM)
    source.setEventHandler {
        pauses.begin()
        log.write(
            .stopping(process: getpid(), time: Machine.timeSinceBoot, grace: gracePeriod))
        worker.stop(gracePeriod: gracePeriod)
    }
    source.activate()
    return source
}

/// How long a process stands still, because it is stopped or the machine is busy.
private final class Pauses: Sendable {
    private let sum = Locked(Duration.zero)

    var total: Duration { sum.withLock { $0 } }

    /// Measures from now on, until the process ends.
    func begin() {
        startTestThread { [self] in
            while true {
                let start = Machine.timeSinceBoot
                usleep(10_000)
                let late = Machine.timeSinceBoot - start - .milliseconds(20)
                if late > .zero { sum.withLock { $0 += late } }
            }
        }
    }
}

/// What the client knows, in a file that outlives it.
enum ClientLog {
    enum Entry: Codable, Sendable {
        /// The store has confirmed these jobs.
        case enqueued([JobID])
        case value(JobID, String)
        case failure(JobID, String)
        /// A batch of ``NemesisMixture/batchSize`` jobs was begun.
        case batch(Int64)
        /// All of them were enqueued.
        case batchEnd(Int64)
    }
}

/// The body of the child process that enqueues jobs and waits for their results. A client that was
/// killed goes on where the log of the one before ends.
struct NemesisClient {
    /// How many jobs may be without a result.
    static let limit = 200
    /// How many jobs are stored together; the last one depends on the others.
    static let group = 10

    @Test(.enabled(if: NemesisSettings.present?.role == .client))
    func enqueuesUntilKilled() async throws { try await runChild(enqueue) }

    private func enqueue(_ settings: NemesisSettings) async throws {
        let descriptor = open(
            settings.confirmed, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        let queue = try await JobQueue("tests", in: NemesisSettings.storage(settings.store))
        var (stored, open, batches) = (0, Set<JobID>(), Set<Int64>())
        for entry in LineFile.read(settings.confirmed) as [ClientLog.Entry] {
            switch entry {
            case .enqueued(let ids):
                stored += ids.count
                open.formUnion(ids)
            case .value(let id, _), .failure(let id, _): open.remove(id)
            case .batch(let id): batches.insert(id)
            case .batchEnd(let id): batches.remove(id)
            }
        }
        let mixture = NemesisMixture(settings, queue)
        async let mixed: Void = mixture.useStore(descriptor, unfinishedBatches: batches)
        try await withThrowingTaskGroup(of: Void.self) { group in
            var waiting = 0
            func wait(for ids: some Sequence<JobID>) {
                guard settings.awaitsResults else { return }
                for id in ids {
                    waiting += 1
                    group.addTask { try await Self.wait(for: id, in: queue, descriptor) }
                }
            }
            wait(for: open)
            while stored < settings.jobs, access(settings.enough, F_OK) != 0 {
                while waiting >= Self.limit {
                    try await group.next()
                    waiting -= 1
                }
                if let pause = settings.pauseOfClient { try await Task.sleep(for: pause) }
                let ids = try await Self.enqueueGroup(settings, queue)
                LineFile.append(ClientLog.Entry.enqueued(ids), to: descriptor)
                mixture.latest.withLock { $0 = ids }
                stored += ids.count
                wait(for: ids)
            }
            try await group.waitForAll()
        }
        try await mixed
        await queue.close()
    }

    private static func wait(
        for id: JobID, in queue: JobQueue, _ descriptor: Int32
    ) async throws {
        do {
            let word = try await queue.handle(of: SlowWord.self, id: id).value
            LineFile.append(ClientLog.Entry.value(id, word), to: descriptor)
        } catch let error as JobFailure {
            LineFile.append(ClientLog.Entry.failure(id, error.reason), to: descriptor)
        } catch let error as JobCancellation {
            LineFile.append(ClientLog.Entry.failure(id, error.reason), to: descriptor)
        } catch JobError.unknownJobs {
            // The check of the store finds that the job is lost.
        }
    }

    /// Stores a group of jobs in one transaction. Throws, like any program, if the store does not
    /// answer; then the driver starts another client.
    private static func enqueueGroup(
        _ settings: NemesisSettings, _ queue: JobQueue
    ) async throws -> [JobID] {
        func job(after dependencies: [JobID] = []) -> SlowWord {
            // Another name each time: an enqueue without an answer may have stored its jobs.
            let name = "\(UInt64.random(in: 0 ... .max))"
            let isLong = Int.random(in: 0..<10) == 0
            let wait = isLong ? settings.longestWaitOfLongJobs : nil
            return SlowWord(
                path: "\(settings.folder)/\(name)", longestWait: wait ?? settings.longestWait,
                isObedient: settings.hasObedientJobs && Bool.random(), dependencies: dependencies,
                endsInTransaction: settings.isMixed && Int.random(in: 0..<10) == 0,
                isSleepy: settings.isMixed && Int.random(in: 0..<10) == 0)
        }
        // The last job names the others in its arguments, so it is stored after them.
        let first = try await queue.enqueue((1..<group).map { _ in job() }) { job in
            // Some may fail too often while a deploy cannot decode them. Those that roll
            // transactions back need more attempts.
            var traits: [JobTrait] = []
            if Int.random(in: 0..<20) == 0, !job.endsInTransaction {
                traits.append(SlowWord.retries(1))
            }
            guard settings.isMixed else { return traits }
            // Jobs of one key may have different numbers.
            if Int.random(in: 0..<5) == 0 {
                traits.append(.limited(to: Int.random(in: 2...3), by: Int.random(in: 0..<4)))
            }
            if Bool.random() { traits.append(.group(Int.random(in: 0..<3))) }
            return traits
        }
        var graph = JobGraph()
        let last = graph.add(job(after: first.map(\.id)), after: first)
        return first.map(\.id) + [try await queue.enqueue(graph)[last].id]
    }
}
#endif
