// DurableJobs: jobs that are written down before they run, so that they survive a crash, and that
// any number of processes share. The protocol between processes is in Protocol.md.
//
//   Jobs/       what a program declares: Job, its traits, handles, dependencies, graphs
//     │
//   Queue/      JobQueue: enqueues, waits for results, explains, cancels, prunes
//   Worker/     JobWorker: claims jobs, runs them as operations, commits their ends
//     │
//   Store/      JobStore: the transactions of the protocol, in the SQL that all databases share
//     │
//   SQLite/     the database in a file; DurableJobsPostgres has another one
//
// Without the package's trait `DurableJobs`, this module contains nothing but the declarations
// below: the compiler's error for a use names the remedy.

#if !DurableJobs
/// Needs the package trait `DurableJobs` of swift-operations.
@available(
    *, unavailable,
    message: "enable the package's trait: .package(url: …, traits: [\"DurableJobs\"])"
)
public protocol Job {}

/// Needs the package trait `DurableJobs` of swift-operations.
@available(
    *, unavailable,
    message: "enable the package's trait: .package(url: …, traits: [\"DurableJobs\"])"
)
public final class JobQueue: Sendable {}

/// Needs the package trait `DurableJobs` of swift-operations.
@available(
    *, unavailable,
    message: "enable the package's trait: .package(url: …, traits: [\"DurableJobs\"])"
)
public final class JobWorker: Sendable {}
#endif
