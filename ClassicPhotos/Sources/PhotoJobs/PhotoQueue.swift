import DurableJobFiles
public import DurableJobs
import Operations
import PhotoImaging
public import PhotoLibrary
import PhotoPipeline

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

/// A queue of photos that any number of processes share.
///
/// A photo's job has a key made of the photo, the recipe, the folder and the name of the result. So
/// the same command a second time joins the jobs of the first one, and stores only what is missing.
public struct PhotoQueue: Sendable {
    /// How following the jobs of a list ended.
    public enum Ending: Sendable {
        /// Every photo is done.
        case complete
        /// The task was cancelled. The given number of photos were not yet stored.
        case detached(missing: Int)
    }

    /// The queue in its store.
    public let jobs: JobQueue

    /// Fetches results, of which only a few should be in memory.
    let receiving = Operations.OperationQueue()

    /// Makes a queue of photos.
    public init(_ jobs: JobQueue) {
        self.jobs = jobs
        receiving.name = "Results of other machines"
        receiving.maxConcurrentOperationCount = 4
    }

    /// Makes a worker, which processes photos from ``JobWorker/run()`` on.
    ///
    /// - Parameters:
    ///   - workshop: what the jobs need.
    ///   - options: further settings; its values get the workshop.
    public func worker(
        _ workshop: PhotoWorkshop, options: JobWorker.Options = JobWorker.Options()
    ) -> JobWorker {
        var options = options
        options.values.provide(workshop)
        let operations = Operations.OperationQueue()
        operations.name = "Photos"
        operations.maxConcurrentOperationCount = workshop.maker.photosInMemory
        return JobWorker(jobs, performing: [PhotoJob.self], on: operations, options: options)
    }

    // MARK: The photos of a list

    struct Followed: Sendable {
        let record: PhotoRecord
        let job: PhotoJob
        let handle: JobHandle<PhotoJob.Output>
    }

    /// Stores jobs for the photos of a list whose results are not up to date, and waits until they
    /// have ended. Workers carry them out.
    ///
    /// - Parameters:
    ///   - records: the photos, as in a ``PhotoList``.
    ///   - batch: knows the recipe and the results of earlier runs.
    ///   - folder: the folder of the batch.
    ///   - overwrites: whether the folder was opened to overwrite.
    ///   - report: called with each photo's result, in the order of completion.
    /// - Throws: `OutputFolder.Problem`, or an error of the store.
    public func process(
        _ records: [PhotoRecord], with batch: PhotoBatch, into folder: OutputFolder,
        overwrites: Bool, report: @escaping @Sendable (PhotoRecord, PhotoBatch.Result) async -> Void
    ) async throws -> Ending {
        guard let path = folder.absolutePath else {
            throw PhotoQueueAddress.Problem(
                description: "The path of \(folder) is not UTF-8, so it cannot be stored in a "
                    + "queue. Process the photos without --queue, or choose another folder.")
        }
        let identity = try folder.makeIdentity()
        let run = String(UInt64.random(in: .min ... .max), radix: 36)
        let steps = batch.steps(records)
        for case (let record, .ended(let result)) in zip(records, steps) {
            await report(record, result)
        }
        let pending = zip(records, steps).compactMap { record, step -> (PhotoRecord, PhotoJob)? in
            guard case .task(let task, let known) = step else { return nil }
            let job = PhotoJob(
                task: task, folder: path, folderIdentity: identity, overwrites: overwrites,
                run: run, known: known)
            return (record, job)
        }
        let (stream, continuation) = AsyncStream<Followed>.makeStream()
        async let stored = store(pending, continuation)
        let isComplete = await follow(stream, folder, report)
        let count = try await stored
        guard isComplete, count == pending.count else {
            return .detached(missing: pending.count - count)
        }
        // An earlier run may have left staged files beside results that are up to date now.
        var paths = pending.map { $0.1.task.path(in: folder, writtenAs: .jpeg) }
        for case .ended(.unchanged(let path)) in steps { paths.append(path) }
        await removeStagedFiles(beside: paths)
        return .complete
    }

    /// The photos of a list whose jobs are in the queue and have not ended, with the states of the
    /// jobs. ``process(_:with:into:overwrites:report:)`` would join these jobs.
    ///
    /// Nothing is stored.
    ///
    /// - Returns: the states by position in the list.
    /// - Complexity: O(number of jobs that have not ended).
    public func states(
        of records: [PhotoRecord], with batch: PhotoBatch, into folder: OutputFolder,
        overwrites: Bool
    ) async throws -> [Int: JobState] {
        // Without an identity, no job has ever been stored for the folder.
        guard let path = folder.absolutePath, let identity = OutputFolder.identity(of: path) else {
            return [:]
        }
        var positions: [PhotoJob.Key: Int] = [:]
        for (position, step) in batch.steps(records).enumerated() {
            guard case .task(let task, let known) = step else { continue }
            let job = PhotoJob(
                task: task, folder: path, folderIdentity: identity, overwrites: overwrites,
                run: "", known: known)
            positions[job.key] = position
        }
        var states: [Int: JobState] = [:]
        var last: JobID?
        let unended = JobState.allCases.filter { !$0.isEnded }
        while true {
            let jobs = try await jobs.list(
                states: unended, name: PhotoJob.name, after: last, limit: 1_000)
            for job in jobs {
                guard let photo = try? job.job(as: PhotoJob.self), let place = positions[photo.key]
                else { continue }
                states[place] = job.state
            }
            guard let id = jobs.last?.id else { return states }
            last = id
        }
    }

    /// Stores jobs until all are stored or the task is cancelled; returns their number.
    private func store(
        _ pending: [(PhotoRecord, PhotoJob)], _ stream: AsyncStream<Followed>.Continuation
    ) async throws -> Int {
        defer { stream.finish() }
        var count = 0
        while count < pending.count, !Task.isCancelled {
            let chunk = pending[count..<min(count + 1000, pending.count)]
            let handles = try await jobs.enqueue(chunk.map(\.1)) { job in
                [.unique(by: job.key), .retry(3)]
            }
            for ((record, job), handle) in zip(chunk, handles) {
                stream.yield(Followed(record: record, job: job, handle: handle))
            }
            count += chunk.count
        }
        return count
    }

    /// Reports the ends of jobs; returns false if the task was cancelled first.
    ///
    /// Only the first unfinished jobs are waited for: jobs end roughly in the order in which they
    /// were stored.
    private func follow(
        _ stream: AsyncStream<Followed>, _ folder: OutputFolder,
        _ report: @escaping @Sendable (PhotoRecord, PhotoBatch.Result) async -> Void
    ) async -> Bool {
        let window = 128
        return await withTaskGroup(of: Bool.self) { group in
            var count = 0
            var isComplete = true
            for await photo in stream {
                if count >= window { isComplete = (await group.next() ?? true) && isComplete }
                count += 1
                group.addTask {
                    guard let result = await result(of: photo, in: folder) else { return false }
                    await report(photo.record, result)
                    return true
                }
            }
            for await isEnded in group { isComplete = isComplete && isEnded }
            return isComplete && !Task.isCancelled
        }
    }

    /// The end of a job; nil if the task was cancelled first.
    private func result(of photo: Followed, in folder: OutputFolder) async -> PhotoBatch.Result? {
        do {
            return try await receive(photo, try await photo.handle.value, in: folder)
        } catch is CancellationError {
            return nil
        } catch let failure as JobFailure {
            return .failed(PhotoFailure(jobReason: failure.reason))
        } catch let cancellation as JobCancellation {
            return .failed(
                PhotoFailure(
                    stage: .source,
                    reason: "Job \(cancellation.id) was cancelled: \(cancellation.reason).",
                    isRetryable: true))
        } catch {
            return .failed(PhotoFailure(stage: .source, reason: "\(error).", isRetryable: true))
        }
    }

    /// Removes what killed workers have left beside the results.
    private func removeStagedFiles(beside paths: [OutputPath]) async {
        // What cannot be removed now may be removed by a later run.
        for folder in Set(paths.compactMap(\.enclosingFolder)) {
            _ = try? await jobs.removeStagedFiles(in: folder)
            // Succeeds only if the folder is empty.
            rmdir("\(folder)/.stage")
        }
    }
}
