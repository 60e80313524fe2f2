#if DurableJobs
import Operations
import OperationsRuntime

/// Jobs that were enqueued together, and their counts.
public struct JobBatch: Sendable {
    /// The number of the batch in its store.
    public let id: Int64
    let queue: JobQueue

    /// The numbers of the batch's jobs. Their cost does not depend on the number of jobs.
    ///
    /// - Throws: ``JobError/unknownBatch(_:store:)``.
    public var counts: JobBatchCounts {
        get async throws {
            guard let counts = try await queue.store.batch(id) else {
                throw JobError.unknownBatch(id, store: queue.store.description)
            }
            return counts
        }
    }

    /// Waits until all jobs were enqueued and have ended, and returns their numbers.
    ///
    /// - Throws: `CancellationError` if the calling task is cancelled;
    ///   ``JobError/abandonedBatch(_:)`` if the program that enqueues the jobs has died, and those
    ///   that it has enqueued have ended.
    @discardableResult
    public func finished() async throws -> JobBatchCounts {
        let counts = try await queue.wait(for: id) {
            $0.isEnded || ($0.isAbandoned && $0.unfinished <= 0)
        }
        guard counts.isEnded else { throw JobError.abandonedBatch(id) }
        return counts
    }

    /// Says that no more jobs will be enqueued, in place of a program that has died.
    public func close() async throws {
        try await queue.store.completeBatch(id)
        queue.signals.jobsEnded()
    }
}

extension JobQueue {
    /// Makes a batch without jobs, so that its number is known before the first job is enqueued;
    /// see the parameter `batch` of the `enqueue` methods that read a sequence.
    ///
    /// - Parameter title: a name of the batch for people.
    public func makeBatch(named title: String = "") async throws -> JobBatch {
        JobBatch(id: try await store.makeBatch(title, in: name), queue: self)
    }

    /// Returns a batch that was enqueued before, perhaps by another process.
    ///
    /// If that process has died before all jobs were enqueued, enqueue the rest into the batch;
    /// with unique keys, those that are there already are joined. Or call ``JobBatch/close()``.
    public func batch(_ id: Int64) -> JobBatch { JobBatch(id: id, queue: self) }

    /// Waits until the numbers of a batch satisfy a condition.
    func wait(
        for batch: Int64, until condition: (JobBatchCounts) -> Bool
    ) async throws -> JobBatchCounts {
        let wakeUp = AutoResetEvent()
        let registration = signals.addEnd { wakeUp.signal() }
        defer { withExtendedLifetime(registration) {} }
        var pause = Duration.milliseconds(5)
        while true {
            let counts = try await JobBatch(id: batch, queue: self).counts
            if condition(counts) { return counts }
            try Task.checkCancellation()
            await wakeUp.wait(atMost: pause)
            pause = min(pause * 2, .milliseconds(250))
        }
    }
}

/// Stores the jobs of one batch in chunks, with back-pressure. Used by one task.
final class BatchWriter<J: Job> {
    private let queue: JobQueue
    private let traits: [JobTrait]
    private let options: JobOptions
    private let limit: Int
    private let batch: Int64
    private var places: BatchPlaces
    private var chunk: [NewJob] = []
    /// The jobs stored since the counts were last read, on top of the unfinished ones then.
    private var unfinished = 0

    /// Tells the store that the writer lives, however long the next element takes.
    private let signs: Task<Void, Never>
    private let isOver = AutoResetEvent()

    nonisolated(nonsending) init(
        _ queue: JobQueue, _ title: String, into batch: JobBatch?, limit: Int, _ traits: [JobTrait]
    ) async throws {
        options = try JobOptions(traits, of: J.self)
        (self.queue, self.traits, self.limit) = (queue, traits, max(1, limit))
        if let batch {
            guard try await queue.store.renewWriter(of: batch.id) else {
                throw JobError.unknownBatch(batch.id, store: queue.store.description)
            }
            self.batch = batch.id
        } else {
            self.batch = try await queue.store.makeBatch(title, in: queue.name)
        }
        places = BatchPlaces(batch: self.batch)
        // The threads of Swift's own pool may be blocked for longer than the store is patient.
        signs = Task(executorPreference: PoolExecutor.timers) {
            [store = queue.store, id = self.batch, isOver] in
            while true {
                await isOver.wait(atMost: JobStore.writerPatience / 3)
                guard !Task.isCancelled else { return }
                _ = try? await store.renewWriter(of: id)
            }
        }
    }

    deinit { endSigns() }

    private func endSigns() {
        signs.cancel()
        isOver.signal()
    }

    nonisolated(nonsending) func add(_ job: J, _ own: [JobTrait]) async throws {
        let options = own.isEmpty ? options : try JobOptions(traits + own, of: J.self)
        chunk.append(try queue.newJob(job, options))
        // While one portion waits to be stored, the workers have the others.
        if chunk.count >= min(JobQueue.chunk, max(1, limit / 4)) { try await flush() }
    }

    nonisolated(nonsending) func end() async throws -> JobBatch {
        try await flush()
        endSigns()
        await signs.value
        try await queue.store.completeBatch(batch)
        queue.signals.jobsEnded()
        return JobBatch(id: batch, queue: queue)
    }

    nonisolated(nonsending) private func flush() async throws {
        guard !chunk.isEmpty else { return }
        if unfinished + chunk.count > limit {
            let count = chunk.count
            let limit = limit
            unfinished = try await queue.wait(for: batch) { $0.unfinished + count <= limit }
                .unfinished
        }
        places = try await queue.store.enqueue(chunk, in: queue.name, at: places).places
        unfinished += chunk.count
        chunk.removeAll(keepingCapacity: true)
        queue.signals.jobsAdded()
    }
}
#endif
