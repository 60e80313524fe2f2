#if DurableJobs && JOB_FAULTS
import Operations

/// Checks that a worker does not lose its lease while its process runs and the store answers,
/// whatever the program does with its threads.
struct LeaseChecks {
    private let lease: Duration
    private let disturbances: [Span]
    private let notes: LeaseNotes
    private var losses: [(process: Int32, time: Duration)] = []

    /// - Parameter disturbances: when processes or the store stood still.
    init(_ entries: [RunLog.Entry], disturbances: [Span], lease: Duration) {
        (self.lease, notes) = (lease, LeaseNotes(entries))
        self.disturbances = disturbances.map { Span(start: $0.start, end: $0.end + lease) }
        for case .lostLease(let process, let time) in entries { losses.append((process, time)) }
    }

    func findings() -> [String] {
        losses.filter { process, time in
            // The report comes from another thread, shortly after the last note.
            let end = time - LeaseNotes.longestGap
            let window = Span(start: end - lease, end: time)
            return !disturbances.contains { $0.overlap(window) > .zero }
                && notes.processes(since: window.start, until: end, isFree: false)
                    .contains(process)
        }.map { "process \($0.process) has lost its lease at \($0.time), and did not stand still" }
    }
}
#endif
