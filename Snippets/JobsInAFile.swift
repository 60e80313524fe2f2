// snippet.hide
// Jobs in a file
#if DurableJobs
import DurableJobs
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

let folder = FileManager.default.temporaryDirectory.appending(component: UUID().uuidString).path
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)

// snippet.show
struct Resize: Job {
    static let name = "resize"
    var photo: String

    func perform(in context: JobContext) async throws -> String { "small \(photo)" }
}

struct Album: Job {
    static let name = "album"
    var pictures: [JobHandle<String>]

    func perform(in context: JobContext) async throws -> String {
        var lines: [String] = []
        for picture in pictures { lines.append(try await context.value(of: picture)) }
        return lines.joined(separator: ", ")
    }
}

let jobs = try await JobQueue("photos", in: .file("\(folder)/jobs.sqlite"))
let alps = try await jobs.enqueue(Resize(photo: "alps.jpg"), .retry(3))
let sea = try await jobs.enqueue(Resize(photo: "sea.jpg"), .priority(.high))
let album = try await jobs.enqueue(Album(pictures: [alps, sea]), after: alps, sea)
print(try await jobs.explain(album.id))

let queue = OperationQueue()
queue.maxConcurrentOperationCount = 2
let worker = JobWorker(jobs, performing: [Resize.self, Album.self], on: queue)
let run = Task { try await worker.run() }  // in this process; or in any other
print(try await album.value)
worker.stop()
try await run.value
// snippet.hide
await jobs.close()
try FileManager.default.removeItem(atPath: folder)
#endif

// Prints:
// job 3 ('album') waits for 2 of 2 (1, 2), both available
// small alps.jpg, small sea.jpg
