import ArgumentParser
import DurableJobs
import OperationsInsight
import PhotoImaging
import PhotoJobs
import PhotoLibrary
import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// `process` with a queue: this program stores the photos as jobs, works on the queue as any other
// worker does, and reports the ends of its own photos.

extension Process {
    /// Processes the photos through a queue.
    func process(
        _ loaded: LoadedSource, _ recipe: PhotoRecipe, into path: [UInt8],
        with downloader: PhotoDownloader, sharing address: PhotoQueueAddress
    ) async throws -> (failures: Int, isInterrupted: Bool) {
        try checkForQueue(recipe)
        let queue = PhotoQueue(try await address.open())
        let folder = try OutputFolder(path: path, overwrites: overwrite)
        let records = try folder.recordsWithoutResults(of: loaded.list.records)
        for note in notes(on: loaded, folder, records) { Terminal.writeError("\(note)\n") }
        let report = ProgressReport(
            total: records.count, remark: loaded.remark, folder: folder.description,
            style: printsJSON ? .json : Terminal.canRewriteLines ? .bar : .lines)
        let result = try await timelineOption.recording { timeline in
            let batch = PhotoBatch(options: options(recipe, folder), downloader: downloader)
            let worker = isIdle ? nil : worker(of: queue, downloader, timeline, report)
            return await Interrupt.run {
                await Self.run(worker) {
                    try await queue.process(
                        records, with: batch, into: folder, overwrites: overwrite
                    ) { await report.add($0, $1) }
                }
            }
        }
        await queue.jobs.close()
        switch result.value {
        case .success(.complete): return (await report.finish(.complete), false)
        case .success(.detached(let missing)):
            let remark = detachment(missing, address)
            return (await report.finish(.detached(remark)), true)
        case .failure(let error):
            await report.note("Error: \(error)")
            _ = await report.finish(.detached(detachment(0, address)))
            throw ExitCode(ExitCodes.notStarted)
        }
    }

    /// Ends the program with a message if a queue cannot store the recipe.
    func checkForQueue(_ recipe: PhotoRecipe) throws {
        guard !recipe.filters.contains(where: { $0.look != nil }) else {
            throw Stop(
                "A look from a file cannot be used with a queue, which would store the look with "
                    + "every photo. Process the photos without a queue.")
        }
    }

    /// The states of the jobs that a dry run finds in the queue, by position in the list. Makes and
    /// migrates no tables.
    func jobStates(
        of records: [PhotoRecord], _ batch: PhotoBatch, _ folder: OutputFolder,
        in address: PhotoQueueAddress
    ) async throws -> [Int: JobState] {
        let version = try await address.schemaVersion()
        let newest = PhotoQueueAddress.newestSchemaVersion
        guard version >= newest else {
            let note =
                version == 0
                ? "There is no queue \(address). A run would make it."
                : "The tables of the queue \(address) have version \(version). A run would migrate "
                    + "them to version \(newest), and could then tell which photos are in the queue."
            Terminal.writeError("Note: \(note)\n")
            return [:]
        }
        let queue = PhotoQueue(try await address.open(makingTables: false))
        let states = await Result {
            try await queue.states(
                of: records, with: batch, into: folder, overwrites: overwrite)
        }
        await queue.jobs.close()
        return try states.get()
    }

    /// Runs a closure, and a worker until the closure has ended.
    private static func run<Value: Sendable>(
        _ worker: JobWorker?, _ body: @escaping @Sendable () async throws -> Value
    ) async -> Result<Value, any Error> {
        // A stopped worker finishes what it has begun, so the task's cancellation must not reach it
        // before the closure's end.
        let work = worker.map { worker in Task.detached { try await worker.run() } }
        let result = await Result { () async throws in try await body() }
        worker?.stop(gracePeriod: .seconds(5))
        do { try await work?.value } catch { return .failure(error) }
        return result
    }

    private func worker(
        of queue: PhotoQueue, _ downloader: PhotoDownloader, _ timeline: OperationTimeline?,
        _ report: ProgressReport
    ) -> JobWorker {
        let maker = ResultMaker(
            limits: downloading.limits, capacity: capacity.pixels,
            downloads: downloading.downloads, downloader: downloader, timeline: timeline)
        let workshop = PhotoWorkshop(maker: maker) { text in
            Task { await report.note(text) }
        }
        var options = JobWorker.Options()
        let complaints = Complaints()
        options.observer = { event in
            switch event {
            case .ended(let job, _, _, _, _), .fenced(let job, _, _):
                _ = workshop.takeProduct(of: job)
            case .storeFailed(let reason):
                if let line = complaints.line(about: reason) { Task { await report.note(line) } }
            case .storeRecovered:
                if let line = complaints.lineAboutEnd() { Task { await report.note(line) } }
            default: break
            }
        }
        return queue.worker(workshop, options: options)
    }

    /// How to go on after Ctrl-C.
    private func detachment(_ missing: Int, _ address: PhotoQueueAddress) -> String {
        var text = "Detached; "
        text +=
            missing > 0
            ? "\(missing) of the other photos are not in the queue yet. "
            : "the other photos stay in the queue. "
        let command = "classicphotos work\(queueing.repeated(address))"
        return text + "\"\(command)\" processes them; the same command as before attaches again."
    }
}
