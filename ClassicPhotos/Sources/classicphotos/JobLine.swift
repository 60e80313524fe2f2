import DurableJobs
import PhotoJobs

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A line of JSON about a job, or the numbers of all jobs.
struct JobLine: Encodable {
    private var id: Int64?
    private var state: String?
    private var name: String?
    private var source: String?
    private var folder: String?
    private var attempt: Int?
    private var host: String?
    private var error: String?
    private var enqueuedAt: Double?
    private var startedAt: Double?
    private var endedAt: Double?
    private var explanation: String?
    private var counts: [String: Int]?

    /// Times are seconds since 1970.
    init(_ job: JobInfo, _ explanation: String? = nil) {
        id = job.id.rawValue
        state = job.state.description
        name = job.photo?.photo
        source = job.photo?.source
        folder = job.photo?.resultsFolder
        attempt = job.attempt
        host = job.host
        error = job.error
        enqueuedAt = job.enqueuedAt.timeIntervalSince1970
        startedAt = job.startedAt?.timeIntervalSince1970
        endedAt = job.endedAt?.timeIntervalSince1970
        self.explanation = explanation
    }

    init(_ counts: [JobState: Int]) {
        self.counts = Dictionary(
            uniqueKeysWithValues: counts.map { ($0.key.description, $0.value) })
    }
}
