import DurableJobFiles
import DurableJobs
import OperationsFoundation

/// A job that makes a small version of a photo. Its arguments are stored, so the job survives the
/// end of the server, also a sudden one.
struct Thumbnail: Job {
    static let name = "thumbnail"
    static let defaultTraits: [JobTrait] = [.retry(3), .timeout(.seconds(30))]

    let photo: String
    let size: Int

    /// Where the thumbnails belong. The worker provides it: another one may have another folder.
    struct Folder: Sendable {
        let path: String
    }

    /// Returns the name of the thumbnail's file.
    func perform(in context: JobContext) async throws -> String {
        let file = "\(size)-\(photo).pgm"
        let folder = try context.provided(Folder.self)
        // The job may run again after a crash. The staged file gets its name when the result of one
        // of the runs has been committed.
        let staged = try context.stagedFile(for: "\(folder.path)/\(file)")
        try picture().write(to: URL(filePath: staged))
        return file
    }

    /// Stands for a look whether the photo exists.
    var photoExists: Bool { !photo.hasPrefix("missing") }

    /// Stands for reading the photo and making it smaller.
    private func picture() throws -> Data {
        if photo.hasPrefix("damaged") { throw PermanentFailure("'\(photo)' cannot be read") }
        // A disk that does not answer: no cancellation ends the call.
        if photo.hasPrefix("hanging") { Thread.sleep(forTimeInterval: 3_600) }
        var picture = Data("P5 \(size) \(size) 255\n".utf8)
        for row in 0..<size {
            try Operation.checkCancellation()
            picture.append(contentsOf: (0..<size).map { UInt8(($0 + row) * 255 / (2 * size)) })
        }
        return picture
    }
}
