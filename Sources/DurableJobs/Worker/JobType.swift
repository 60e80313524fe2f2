#if DurableJobs
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A type of job that a worker performs.
struct JobType: Sendable {
    /// A decoded job, ready to run.
    struct Prepared: Sendable {
        let traits: [OperationTrait]
        /// Runs the job, and returns the stored form of its result.
        let perform: @Sendable () async throws -> Data
    }

    let name: String
    let version: Int
    let output: Any.Type
    let prepare: @Sendable (ClaimedJob, JobContext) throws -> Prepared

    init<J: Job>(_ type: J.Type) {
        (name, version, output) = (J.name, J.version, J.Output.self)
        prepare = { claimed, context in
            let job = try J.decode(claimed.arguments, version: claimed.version)
            return Prepared(traits: J.traits(for: job)) {
                try JobCoding.result(try await job.perform(in: context), of: J.name)
            }
        }
    }
}
#endif
