import Synchronization

/// Whether any code in the process has requested a quality of service other than the usual ones.
///
/// Until then the library skips the work for qualities wherever that work would take time: all
/// operations are equally urgent, and all workers are of one class.
package enum QualityOfServiceUse {
    private static let flag = Atomic<Bool>(false)

    package static var isOn: Bool {
        @inline(__always) get { flag.load(ordering: .relaxed) }
    }

    /// Records the use of a quality. Called before the quality is stored anywhere.
    package static func begins(rank: Int) {
        if Urgency(rank: rank) != .usual, !isOn {
            begins()
        }
    }

    /// Records the priority of a job of a task that is no body.
    package static func begins(with job: UnownedJob) {
        if Urgency(job.priority) != .usual, !isOn { begins() }
    }

    private static func begins() { flag.store(true, ordering: .sequentiallyConsistent) }
}
