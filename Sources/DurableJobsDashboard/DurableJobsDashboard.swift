// DurableJobsDashboard: pages that show the jobs of queues, for a server of the program.
//
//   JobDashboard        what users make: turns a request into a response
//        │
//   DashboardGuard      refuses changes that another site has sent
//   DashboardPages      what the pages contain, from what JobQueue tells
//        │
//   HTML                text in which every value is escaped
//   DashboardFiles      the style sheet and the script of the pages
//
// The module knows the types of swift-http-types and no server: the program's own server passes
// requests on. It uses only the public interface of DurableJobs. This module is empty unless the
// package's trait `DurableJobsDashboard` is enabled.

#if DurableJobs && !DurableJobsDashboard
public import DurableJobs

/// Needs the package trait `DurableJobsDashboard` of swift-operations.
@available(
    *, unavailable,
    message: "enable the package's trait: .package(url: …, traits: [\"DurableJobsDashboard\"])"
)
public struct JobDashboard {
    /// Needs the package trait.
    public init(_ jobs: JobQueue, at path: String = "/jobs", allowsChanges: Bool = false) {}
}
#endif
