public import DurableJobs
import FoundationEssentials
import Imaging
import PhotoPipeline

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

    /// The name of the photo for display.
    public var photo: String { task.name }

    /// The URL of the photo.
    public var source: String { task.source }

    /// The folder for the results.
    public var resultsFolder: String { folder }

    /// What two jobs with the same result have in common, so that the second one joins the first.
    struct Key: Encodable, Sendable {
        let task: PhotoTask
        let folderIdentity: String
        let overwrites: Bool
    }

    var key: Key { Key(task: task, folderIdentity: folderIdentity, overwrites: overwrites) }

    /// Makes the result of the photo, as a staged file.
    public func perform(in context: JobContext) async throws -> Output {
        let workshop = try context.provided(PhotoWorkshop.self)
        let folder = try await workshop.folder(of: self)
        let result = await workshop.maker.process(task, in: folder) {
            try context.stagedFile(for: $0)
        }
        switch result {
        case .written(let file):
            workshop.keep(result, of: context.id)
            var output = Output(isUnchanged: false, format: format(of: file.path, in: folder))
            output.size = file.size
            output.byteCount = file.byteCount
            output.remarks = file.remarks
            return output
        case .unchanged(let path):
            workshop.keep(result, of: context.id)
            return Output(isUnchanged: true, format: format(of: path, in: folder))
        case .failed(let failure):
            guard let problem = folder.generalProblem else {
                throw PermanentFailure(failure.description)
            }
            throw await workshop.postpone(self, because: problem)
        case .cancelled:
            if let problem = folder.generalProblem {
                throw await workshop.postpone(self, because: problem)
            }
            throw CancellationError()
        }
    }

    private func format(of path: OutputPath, in folder: OutputFolder) -> ImageFormat {
        ImageFormat.allCases.first { task.path(in: folder, writtenAs: $0) == path } ?? .jpeg
    }

    /// The result for reports, with a path that this process computes.
    func result(_ output: Output, in folder: OutputFolder) -> PhotoBatch.Result {
        let path = task.path(in: folder, writtenAs: output.format)
        guard !output.isUnchanged else { return .unchanged(path) }
        return .written(
            OutputFile(
                path: path, size: output.size, byteCount: output.byteCount,
                remarks: output.remarks))
    }
}

extension PhotoFailure {
    /// Reads the reason for which a job was discarded: ``PhotoFailure/description``, or a sentence
    /// of the library.
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
