import Synchronization

extension OperationsDiagnostics {
    /// A queue that holds operations, and why these do not go on.
    public struct UnfinishedQueue: Sendable, CustomStringConvertible {
        /// The queue. While this is kept, so is the queue.
        public let queue: OperationQueue
        /// What it is doing, and what keeps its operations from running.
        public let explanation: OperationQueueExplanation
        /// Whether nothing can go on by itself: nothing that the queue's operations wait for, directly or not,
        /// runs or could be started.
        ///
        /// It takes somebody outside to go on: who resumes a suspended queue, cancels an operation, or
        /// starts one that is in no queue.
        public let isStuck: Bool
        /// Whether nobody else had a reference to the queue: it was let go of, and goes on existing only because
        /// it holds operations.
        public let isAbandoned: Bool

        /// The explanation, and whether somebody could still do something about it.
        public var description: String {
            switch (isStuck, isAbandoned) {
            case (true, true):
                "\(explanation)\nNobody has a reference to this queue any more, and it cannot go on."
            case (true, false): "\(explanation)\nIt cannot go on by itself."
            case (false, _): "\(explanation)"
            }
        }
    }

    /// All queues that hold unfinished operations, in the order in which they were made, and why each does not
    /// go on.
    ///
    /// A queue keeps itself as long as it holds operations. So one that was let go of while it is suspended, or
    /// while its operations wait for something that never comes, stays for ever: look for it here.
    ///
    /// - Complexity: that of ``OperationQueue/explain()`` for each.
    public static func unfinishedQueues() -> [UnfinishedQueue] {
        QueueRegistry.unfinished.map { queue, isAbandoned in
            UnfinishedQueue(
                queue: queue, explanation: queue.explain(), isStuck: queue.isStuck,
                isAbandoned: isAbandoned)
        }
    }

    #if DEBUG
    private static let exitReports = Atomic<Bool>(true)
    #else
    private static let exitReports = Atomic<Bool>(false)
    #endif

    /// Whether queues that are stuck and abandoned are reported on standard error when the process exits; true in
    /// debug builds of the library, unless set.
    ///
    /// Those that are only unfinished are not reported: a program may exit when it likes.
    public static var reportsUnfinishedQueuesAtExit: Bool {
        get { exitReports.load(ordering: .relaxed) }
        set { exitReports.store(newValue, ordering: .relaxed) }
    }

    private static let exitReportLimit = 10

    /// To be called when the process exits. It asks `name` and `isReady`, which may be overridden.
    static func reportAtExit() {
        guard reportsUnfinishedQueuesAtExit else { return }
        if let report = report(on: unfinishedQueues()) { writeToStandardError(report) }
    }

    static func report(on queues: [UnfinishedQueue]) -> String? {
        let lost = queues.filter { $0.isStuck && $0.isAbandoned }
        guard !lost.isEmpty else { return nil }
        var lines = lost.prefix(exitReportLimit).map { queue in
            "Operations: nobody has a reference to this queue any more, and its operations cannot go on. "
                + "Keep the queue and resume it, or cancel its operations.\n\(queue.explanation)\n"
        }
        if lost.count > exitReportLimit {
            lines.append("… and \(lost.count - exitReportLimit) more such queues.\n")
        }
        return lines.joined()
    }
}

extension OperationQueue {
    /// Whether nothing can go on of what it holds and of what that waits for, unless somebody outside acts.
    ///
    /// In doubt, no: an operation whose overridden `isReady` says no may be about to say yes.
    var isStuck: Bool {
        let survey = GraphCollector(of: self)
        return survey.omitted == 0 && !survey.found.contains { $0.canGoOn }
    }
}

extension GraphCollector.Found {
    fileprivate var canGoOn: Bool {
        if word.phase == .finished { return false }
        // When that has passed, it leaves.
        if operation.attemptController?.deadline != nil { return true }
        switch word.phase {
        case .finished: return false
        case .created: return operation.isExecuting
        case .starting: return true
        case .executing: return waits.isEmpty
        case .waiting, .checkingReadiness:
            return word.isStopped || dependencies.allSatisfy { $0.status.phase == .finished }
        case .queued:
            guard !word.isStopped || operation.needsSlotToLeave(word), let queue else {
                return true
            }
            return queue.snapshot { state in
                let (place, barrier) = (operation.place, state.barrierPlace)
                let isEligible = place < barrier || (place == barrier && state.ring.head == barrier)
                return !state.isSuspended && state.width != 0 && isEligible
            }
        }
    }
}
