// snippet.hide
// Jobs at times
#if DurableJobs
// snippet.show
import DurableJobs
import Foundation
import Operations

// snippet.hide
let folder = FileManager.default.temporaryDirectory.appending(component: UUID().uuidString).path
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)

// snippet.show
struct SendDigest: Job {
    static let name = "digest"
    var list: String

    func perform(in context: JobContext) async throws -> String { "digest for \(list)" }
}

let jobs = try await JobQueue("mail", in: .file("\(folder)/jobs.sqlite"))
try await jobs.schedule("digest", revision: 1, .daily(at: "07:30", in: "Europe/Berlin"), .retry(3))
{
    SendDigest(list: "readers")
}
for schedule in try await jobs.schedules() {
    print("\(schedule.name): \(schedule.times)")
}

let worker = JobWorker(jobs, performing: [SendDigest.self], on: Operations.OperationQueue())
let run = Task { try await worker.run() }  // in this process; or in any other
let id = try await jobs.runNow("digest")  // not at half past seven
print(try await jobs.handle(of: SendDigest.self, id: id).value)
worker.stop()
try await run.value
// snippet.hide
await jobs.close()
try FileManager.default.removeItem(atPath: folder)
#endif

// Prints:
// digest: 30 7 * * * in Europe/Berlin
// digest for readers
