import Synchronization

/// Whether any code in the process has requested a quality of service other than the usual ones.
///
/// Until then the library skips the work for qualities wherever that work would take time: all
/// operations are equally urgent, and all workers are of one class. After that, each queue still
/// skips the work while all of its operations are as urgent as usual.
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

    // MARK: Queues

    /// The number of queues in which qualities are in use.
    private static let queues = Atomic<Int>(0)

    /// Whether qualities are in use in any queue: whether a queue has held an operation that is
    /// more or less urgent than usual since the queue was last empty.
    package static var isInQueues: Bool {
        @inline(__always) get { queues.load(ordering: .relaxed) > 0 }
    }

    /// Records that the use of qualities begins or ends in a queue. Called with the queue's lock.
    package static func changes(inQueue isInUse: Bool) {
        queues.add(isInUse ? 1 : -1, ordering: .sequentiallyConsistent)
    }

    private static func begins() { flag.store(true, ordering: .sequentiallyConsistent) }
}
