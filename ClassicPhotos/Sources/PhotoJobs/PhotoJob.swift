import DurableJobFiles
public import DurableJobs
import PhotoImaging
import PhotoLibrary
import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The work on one photo of a batch, as a durable job.
///
/// `process` decides everything that the job says, also the name of the result. A worker takes
/// nothing from other workers.
public struct PhotoJob: Job {
    /// What a worker made of the photo.
    public struct Output: Codable, Sendable, Hashable {
        /// Whether the result of an earlier run was up to date; then there are no sizes.
        let isUnchanged: Bool
        let format: ImageFormat
        var size = PixelSize(width: 0, height: 0)
        var byteCount = 0
        var remarks: [PhotoRemark] = []
        /// Set if the file is attached to the job, and not in the folder.
        var delivery: PhotoDelivery?
    }

    /// The name in a store.
    public static let name = "photo"

    let task: PhotoTask
    /// The absolute path of the folder for the results.
    let folder: String
    /// The text that identifies the folder; see ``OutputFolder/makeIdentity()``.
    let folderIdentity: String
    /// Whether files are replaced that are not results of the photo.
    let overwrites: Bool
    /// A random text of the run of `process` that stored the job. Workers open the folder again for
    /// each run, so that they see what other programs have written there.
    let run: String
    /// A result of an earlier run, for workers that do not see the folder.
    var known: KnownResult?

    /// The name of the photo for display.
    public var photo: String { task.name }

    /// The URL of the photo.
    public var source: String { task.source }

    /// The folder for the results.
    public var resultsFolder: String { folder }

    /// What two jobs with the same result have in common, so that the second one joins the first.
    struct Key: Encodable, Sendable, Hashable {
        let task: PhotoTask
        let folderIdentity: String
        let overwrites: Bool
    }

    var key: Key { Key(task: task, folderIdentity: folderIdentity, overwrites: overwrites) }

    /// Makes the result of the photo: a staged file, or an attachment if this machine does not see
    /// the folder.
    public func perform(in context: JobContext) async throws -> Output {
        let workshop = try context.provided(PhotoWorkshop.self)
        guard let folder = try await workshop.folder(of: self) else {
            return try await attach(to: context, workshop)
        }
        let result = await workshop.maker.process(task, in: folder) {
            try context.stagedFile(for: $0)
        }
        switch result {
        case .written(let file):
            workshop.keep(result, of: context.id)
            return Output(file, format: task.format(of: file.path, in: self.folder))
        case .unchanged(let path):
            workshop.keep(result, of: context.id)
            return Output(isUnchanged: true, format: task.format(of: path, in: self.folder))
        case .failed(let failure):
            guard let problem = folder.generalProblem else {
                throw PermanentFailure(failure.jobReason)
            }
            throw await workshop.postpone(self, because: problem)
        case .cancelled:
            if let problem = folder.generalProblem {
                throw await workshop.postpone(self, because: problem)
            }
            throw CancellationError()
        }
    }

    /// Makes the result, and attaches it to the job.
    private func attach(to context: JobContext, _ workshop: PhotoWorkshop) async throws -> Output {
        if let reason = workshop.whyTooLarge(context.id) {
            throw await workshop.postpone(self, because: reason)
        }
        do {
            try context.requireRoomForAttachment()
        } catch let postponed as Snooze {
            throw await workshop.postpone(self, because: postponed.description)
        }
        switch await workshop.maker.make(task, for: folder, after: known) {
        case .bytes(let bytes, let delivery, let file):
            guard bytes.count <= JobContext.largestAttachment else {
                let reason =
                    "The result of \(photo) has \(bytes.count) bytes, and at most "
                    + "\(JobContext.largestAttachment) go through the queue. Mount the folder "
                    + "\(folder) here, or start workers on machines that have it."
                workshop.noteTooLarge(context.id, because: reason)
                throw await workshop.postpone(self, because: reason)
            }
            try context.attach(Data(bytes))
            workshop.keep(.written(file), of: context.id, isAttached: true)
            var output = Output(file, format: task.format(of: file.path, in: folder))
            output.delivery = delivery
            return output
        case .ended(.unchanged(let path)):
            workshop.keep(.unchanged(path), of: context.id)
            return Output(isUnchanged: true, format: task.format(of: path, in: folder))
        case .ended(.failed(let failure)): throw PermanentFailure(failure.jobReason)
        case .ended(.written), .ended(.cancelled): throw CancellationError()
        }
    }
}

extension PhotoJob.Output {
    fileprivate init(_ file: OutputFile, format: ImageFormat) {
        self.init(
            isUnchanged: false, format: format, size: file.size, byteCount: file.byteCount,
            remarks: file.remarks)
    }

    /// The file in the folder of `process`, with a path that `process` computes.
    func file(of task: PhotoTask, in folder: OutputFolder) -> OutputFile {
        OutputFile(
            path: task.path(in: folder, writtenAs: format), size: size, byteCount: byteCount,
            remarks: remarks)
    }
}

extension PhotoFailure {
    /// The reason for which a job is discarded.
    var jobReason: String { "\(stage.rawValue): \(reasonWithFlag)" }

    /// Reads the reason for which a job was discarded: ``jobReason``, or a sentence of the library.
    init(jobReason reason: String) {
        for stage in Stage.allCases where reason.hasPrefix("\(stage.rawValue): ") {
            self.init(
                stage: stage, reason: String(reason.dropFirst(stage.rawValue.count + 2)),
                isRetryable: true)
            return
        }
        // Such as the deaths of several workers, most probably because of the picture.
        self.init(stage: .decode, reason: reason, isRetryable: true)
    }
}
