import OperationsRuntime
import Synchronization

extension OperationsDiagnostics {
    /// A queue that holds unfinished operations, and why they make no progress.
    public struct UnfinishedQueue: Sendable, CustomStringConvertible {
        /// The queue. This value retains it.
        public let queue: OperationQueue
        /// What the queue is doing, and what keeps its operations from running.
        public let explanation: OperationQueueExplanation
        /// Whether the queue cannot make progress by itself: no operation of the queue, and none
        /// that these wait for, directly or indirectly, runs or could be started.
        ///
        /// Only other code can let a stuck queue go on: by resuming a suspended queue, cancelling
        /// an operation, or starting an operation that is in no queue.
        public let isStuck: Bool
        /// Whether nothing else had a reference to the queue: the program has released it, and it
        /// still exists only because it holds operations.
        public let isAbandoned: Bool

        init(_ queue: OperationQueue, isAbandoned: Bool) {
            self.queue = queue
            explanation = queue.explain()
            isStuck = queue.isStuck
            self.isAbandoned = isAbandoned
        }

        /// The explanation, with a note if the queue is stuck; the note says whether it is
        /// abandoned, too.
        public var description: String {
            switch (isStuck, isAbandoned) {
            case (true, true):
                "\(explanation)\nNobody has a reference to this queue any more, and it cannot go on."
            case (true, false): "\(explanation)\nIt cannot go on by itself."
            case (false, _): "\(explanation)"
            }
        }
    }

    /// Returns all queues that hold unfinished operations, in the order in which they were made,
    /// and why each makes no progress.
    ///
    /// A queue retains itself as long as it holds operations. So a queue that the program releases
    /// while it is suspended, or while its operations wait for an event that never comes, stays
    /// forever: look for it here.
    ///
    /// - Complexity: that of ``OperationQueue/explain()`` for each queue.
    public static func unfinishedQueues() -> [UnfinishedQueue] {
        QueueRegistry.unfinished.map(UnfinishedQueue.init)
    }

    #if DEBUG
    private static let exitReports = Atomic<Bool>(true)
    #else
    private static let exitReports = Atomic<Bool>(false)
    #endif

    /// Whether queues that are stuck and abandoned are reported on standard error when the process
    /// exits; true by default in debug builds of the library, false in others.
    ///
    /// Queues that are merely unfinished are not reported: a program may exit at any time.
    public static var reportsUnfinishedQueuesAtExit: Bool {
        get { exitReports.load(ordering: .relaxed) }
        set { exitReports.store(newValue, ordering: .relaxed) }
    }

    private static let exitReportLimit = 10

    /// Writes the report; called when the process exits.
    ///
    /// The report reads `name` and `isReady` of operations, which may be overridden.
    static func reportAtExit() {
        guard reportsUnfinishedQueuesAtExit else { return }
        // Only these queues are searched and explained: the others may hold many operations.
        let lost = QueueRegistry.unfinished.filter { $0.isAbandoned && $0.queue.isStuck }
        if let report = report(on: lost.map(\.queue)) { writeToStandardError(report) }
    }

    /// Returns the report on queues that are stuck and abandoned, if there are any.
    static func report(on lost: [OperationQueue]) -> String? {
        guard !lost.isEmpty else { return nil }
        var lines = lost.prefix(exitReportLimit).map { queue in
            "Operations: nobody has a reference to this queue any more, and its operations cannot go on. "
                + "Keep the queue and resume it, or cancel its operations.\n\(queue.explain())\n"
        }
        if lost.count > exitReportLimit {
            lines.append("… and \(lost.count - exitReportLimit) more such queues.\n")
        }
        return lines.joined()
    }
}

extension OperationQueue {
    /// Whether the queue's operations, and everything that they wait for, can make progress only if
    /// other code acts.
    ///
    /// When in doubt, the queue is not stuck: an operation whose overridden `isReady` returns false
    /// may be about to return true.
    var isStuck: Bool {
        let collector = GraphCollector(of: self)
        return collector.omitted == 0 && !collector.found.contains { $0.canProceed }
    }
}

extension GraphCollector.Found {
    fileprivate var canProceed: Bool {
        if state.phase == .finished { return false }
        if state.phase == .created { return operation.isExecuting }
        // The operation leaves when its deadline has passed.
        if operation.attemptController?.deadline != nil { return true }
        return operation.blockers(in: state, .waiting).allSatisfy(\.mayBeRemoved)
    }
}

extension Blocker {
    /// Whether the blocker may be removed although nothing that is known to wait goes on.
    fileprivate var mayBeRemoved: Bool {
        switch kind {
        case .hold, .turn, .readiness, .permits, .permitLine, .slots: true
        case .dependencies, .wait, .group, .barrier, .strictOrder, .notStarted, .suspension,
            .zeroWidth:
            false
        }
    }
}
