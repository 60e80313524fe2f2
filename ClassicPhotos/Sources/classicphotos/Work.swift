import ArgumentParser
import DurableJobs
import PhotoJobs
import PhotoLibrary
import PhotoPipeline
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Works on a queue until Ctrl-C.
struct Work: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Processes the photos of a queue, together with other processes and machines.",
        discussion: """
            "classicphotos process --queue URL" stores photos in the queue. Any number of workers, \
            on any machines, share them. Photos on the web need nothing else: a worker that does \
            not see the folder of the results sends each result, up to 8 MiB, through the queue to \
            "process". For local photos, a machine must see the folders of the photos and of the \
            results at the same paths; a worker that does not see one says so, and leaves its \
            photos to others.

            Ctrl-C finishes the photos in progress and ends the worker; a second Ctrl-C ends it at \
            once. The photos of a worker that is killed start again elsewhere within about 20 \
            seconds, and nothing is written twice.

            Limits on downloads and pictures are those of the worker, not of "process".

            \(ExitCodes.description)
            """)

    @OptionGroup var queueing: QueueOption

    @OptionGroup var capacity: CapacityOptions

    @OptionGroup(title: "Downloads and limits") var downloading: DownloadOptions

    @Option(help: .hidden)
    var lease: Double?

    func validate() throws { _ = try queueing.requiredAddress() }

    func run() async throws {
        let address = try queueing.requiredAddress()
        let error = try await stopping { () async throws -> (any Error)? in
            let isNew = try await address.schemaVersion() == 0
            let queue = PhotoQueue(try await address.open())
            if isNew {
                // The name may be misspelled, and then the worker waits for ever.
                Terminal.writeError(
                    "Note: There was no queue \(address). This worker has made it, and waits for "
                        + "photos that \"process --queue\" stores in it.\n")
            }
            let error = await PhotoDownloader.run(
                limits: downloading.downloadLimits, allowing: downloading.allowedHosts
            ) {
                downloader in await work(on: queue, at: address, with: downloader)
            }
            await queue.jobs.close()
            return error
        }
        guard let error else { return }
        Terminal.writeError("Error: \(error)\n")
        throw ExitCode(ExitCodes.notStarted)
    }

    private func work(
        on queue: PhotoQueue, at address: PhotoQueueAddress, with downloader: PhotoDownloader
    ) async -> (any Error)? {
        let maker = ResultMaker(
            limits: downloading.limits, capacity: capacity.pixels,
            downloads: downloading.downloads, downloader: downloader)
        let workshop = PhotoWorkshop(maker: maker) {
            Terminal.writeError("\(ProgressReport.line($0))\n")
        }
        let report = WorkReport()
        var options = JobWorker.Options()
        if let lease { options.lease = .seconds(lease) }
        options.observer = { report.add($0, workshop) }
        let worker = queue.worker(workshop, options: options)
        let (result, _) = await Interrupt.run {
            // Not earlier: the program would not notice a Ctrl-C that follows the line at once.
            StandardOutput.writeLine("Working on \(address). Press Ctrl-C to stop.")
            return await withTaskCancellationHandler {
                await Result { () async throws in try await worker.run() }
            } onCancel: {
                StandardOutput.writeLine("Finishing the photos in progress.")
            }
        }
        StandardOutput.writeLine(report.summary)
        if case .failure(let error) = result { return error }
        return nil
    }
}

extension Result where Failure == any Error {
    /// The outcome of an asynchronous closure.
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

/// Reports what a worker does: a line for each photo, and the sum at the end.
final class WorkReport: Sendable {
    private struct Counts {
        var written = 0
        var unchanged = 0
        var failed = 0
    }

    private let counts = Mutex(Counts())
    private let complaints = Complaints()

    /// Prints a line about an event, if it concerns a person.
    func add(_ event: JobWorkerEvent, _ workshop: PhotoWorkshop) {
        switch event {
        case .ended(let job, _, _, let state, let error):
            let product = workshop.takeProduct(of: job)
            guard state.isEnded else { return }
            ended(job, state, product, error)
        case .rescued(let count):
            let jobs = count == 1 ? "1 photo" : "\(count) photos"
            Terminal.writeError("Took over \(jobs) of workers that died.\n")
        case .leaseLost:
            Terminal.writeError(
                "This worker could not reach the queue for too long; others process its photos.\n")
        case .storeFailed(let reason):
            if let line = complaints.line(about: reason) { Terminal.writeError("\(line)\n") }
        case .storeRecovered:
            if let line = complaints.lineAboutEnd() { Terminal.writeError("\(line)\n") }
        case .fenced(let job, _, _): _ = workshop.takeProduct(of: job)
        case .exchanged, .started, .heartbeatLate, .unreadableSchedule: break
        }
    }

    private func ended(
        _ job: JobID, _ state: JobState, _ product: PhotoWorkshop.Product?, _ error: String?
    ) {
        switch product?.result {
        case .written(let file) where state == .completed:
            counts.withLock { $0.written += 1 }
            let place = product?.isAttached == true ? ", in the queue" : ""
            StandardOutput.writeLine(
                "job \(job): \(ProgressReport.line(file.path.description))\(place)")
        case .unchanged(let path) where state == .completed:
            counts.withLock { $0.unchanged += 1 }
            StandardOutput.writeLine(
                "job \(job): \(ProgressReport.line(path.description)) is up to date")
        default:
            counts.withLock { $0.failed += 1 }
            Terminal.writeError("job \(job) \(state): \(ProgressReport.line(error ?? ""))\n")
        }
    }

    /// The sum of the work.
    var summary: String {
        let counts = counts.withLock { $0 }
        var text = "Wrote \(counts.written) \(counts.written == 1 ? "photo" : "photos")."
        if counts.unchanged > 0 {
            text += " \(counts.unchanged) \(counts.unchanged == 1 ? "was" : "were") up to date."
        }
        if counts.failed > 0 { text += " \(counts.failed) failed; the reasons are above." }
        return text
    }
}
