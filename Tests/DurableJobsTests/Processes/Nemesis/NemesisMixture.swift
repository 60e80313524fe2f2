#if DurableJobs && JOB_FAULTS
import OperationsRuntime
import DurableJobs
import Operations
import OperationsTestSupport

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

/// What processes of a round do with the store beside the client's groups of jobs, until the driver
/// says that it is enough.
///
/// The sleeps are part of it: a transaction stays open for a while, and the store is not to be
/// filled.
final class NemesisMixture: Sendable {
    static let batchSize = 20

    /// Jobs that the client has stored last.
    let latest = Locked<[JobID]>([])
    private let settings: NemesisSettings
    private let queue: JobQueue

    init(_ settings: NemesisSettings, _ queue: JobQueue) {
        (self.settings, self.queue) = (settings, queue)
    }

    private var isEnough: Bool { access(settings.enough, F_OK) == 0 }

    private func job(
        after dependencies: [JobID] = [], isRefused: Bool = false, mayFail: Bool = true
    ) -> SlowWord {
        SlowWord(
            path: "\(settings.folder)/\(UInt64.random(in: 0 ... .max))", longestWait: 20,
            isObedient: true, dependencies: dependencies, isRefused: isRefused,
            endsInTransaction: mayFail && !isRefused && Int.random(in: 0..<4) == 0)
    }

    /// Calls a function again and again, as long as there are faults. A store that does not answer
    /// is no finding; a deadlock is.
    private func repeatedly(
        every pause: ClosedRange<Int>, _ body: () async throws -> Void
    ) async {
        while !isEnough {
            do {
                try await body()
            } catch {
                if "\(error)".contains("deadlock") { note("\(error)") }
            }
            try? await Task.sleep(for: .milliseconds(Int.random(in: pause)))
        }
    }

    private func note(_ problem: String) {
        let descriptor = open(
            settings.problems, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        LineFile.append(problem, to: descriptor)
        close(descriptor)
    }

    /// Jobs with unique keys, in another order each time, from all workers' processes.
    func enqueueUniqueGroups() async {
        await repeatedly(every: 100...600) {
            let keys = (0..<30).shuffled().prefix(10)
            var rest = keys[...]
            // A job keeps its failures when its arguments are replaced, and the checks know only
            // the last ones.
            _ = try await queue.enqueue(keys.map { _ in job(mayFail: false) }) { _ in
                let key = JobTrait.unique(by: rest.removeFirst())
                guard Bool.random() else { return [key] }
                let delay = JobTrait.delay(.milliseconds(Int.random(in: 0...300)))
                return [key, delay, .joining([.replacingArguments, .postponing])]
            }
        }
    }

    /// What the client does.
    func useStore(_ descriptor: Int32, unfinishedBatches: Set<Int64>) async throws {
        guard settings.isMixed else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in await writeBatches(descriptor, unfinishedBatches) }
            group.addTask { [self] in
                await repeatedly(every: 200...1_000) {
                    let id = try await queue.enqueue(job(isRefused: true)).id
                    LineFile.append(ClientLog.Entry.enqueued([id]), to: descriptor)
                }
            }
            group.addTask { [self] in
                await repeatedly(every: 50...500) {
                    guard let dependency = latest.withLock({ $0.randomElement() }) else { return }
                    // A transaction blocks its thread.
                    let id = try await onThread { [self] in
                        Result { try enqueueInOpenTransaction(after: dependency) }
                    }.get()
                    if let id { LineFile.append(ClientLog.Entry.enqueued([id]), to: descriptor) }
                }
            }
        }
    }

    // MARK: Batches

    /// Writes one batch after another. The client may be killed meanwhile; the next one goes on
    /// with the batch, or closes it.
    private func writeBatches(_ descriptor: Int32, _ unfinished: Set<Int64>) async {
        for id in unfinished.sorted() {
            await untilStored {
                if Bool.random() {
                    try await queue.batch(id).close()
                } else {
                    try await write(queue.batch(id), descriptor)
                }
            }
        }
        await repeatedly(every: 100...500) {
            let batch = try await queue.makeBatch(named: "mixture")
            LineFile.append(ClientLog.Entry.batch(batch.id), to: descriptor)
            await untilStored { try await write(batch, descriptor) }
        }
    }

    /// Calls a function until it does not throw.
    private func untilStored(_ body: () async throws -> Void) async {
        while true {
            do {
                return try await body()
            } catch {
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    /// Those that are there already are joined, also if they have ended.
    private func write(_ batch: JobBatch, _ descriptor: Int32) async throws {
        var number = 0
        try await queue.enqueue(each: 0..<Self.batchSize, capacity: 5, into: batch) { _ in
            job()
        } traits: { _ in
            number += 1
            return [.unique(by: "batch \(batch.id), \(number)", for: .seconds(3_600))]
        }
        LineFile.append(ClientLog.Entry.batchEnd(batch.id), to: descriptor)
    }

    // MARK: Transactions of the application

    private struct RolledBack: Error {}

    /// Stores a job in a transaction that stays open for a while, and that may not be committed.
    ///
    /// - Returns: the job, if the database has confirmed the transaction.
    private func enqueueInOpenTransaction(after dependency: JobID) throws -> JobID? {
        let job = job(after: [dependency])
        let first = JobDependency(id: dependency, condition: .success)
        let isCommitted = Int.random(in: 0..<4) > 0
        let isFile = !settings.store.hasPrefix("postgres:")
        // A file has one writer at a time: everybody else waits.
        let longest = isFile ? 200_000 : UInt32(settings.lease.milliseconds * 2_000)
        do {
            return try ProgramDatabase(of: settings.store, waitingFor: 5_000).write { connection in
                let id = try queue.enqueue(job, after: first, in: connection.transaction).id
                usleep(UInt32.random(in: 0...longest))
                guard isCommitted else { throw RolledBack() }
                return id
            }
        } catch is RolledBack {
            return nil
        }
    }
}
#endif
