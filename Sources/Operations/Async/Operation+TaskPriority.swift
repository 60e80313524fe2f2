import OperationsRuntime
import Synchronization

extension Operation {
    /// The task priority that corresponds to the quality of service. Nil if tasks have that
    /// priority anyway, and if the operation was started by hand. A quality that was only inferred
    /// does not count while no queue of the process uses qualities, because it would cost another
    /// task.
    var taskPriority: TaskPriority? {
        needsTaskPriority ? status.quality.taskPriority : nil
    }

    /// Whether the body needs a task that runs nothing else: one with a priority or a name.
    var needsOwnTask: Bool { needsTaskPriority || taskName != nil }

    /// The name of the body's task: that of the operation.
    var taskName: String? { existingExtras == nil ? nil : name }

    /// Whether there is a ``taskPriority``; a quicker question.
    private var needsTaskPriority: Bool {
        let quality = status.quality
        return queueReference.load(ordering: .relaxed) != nil
            && (QualityOfServiceUse.isInQueues || quality.property != .default)
            && QualityOfService(rank: quality.rankInForce) != .default
    }
}

extension QualityOfServiceState {
    /// The task priority; nil for the priority that tasks have anyway.
    fileprivate var taskPriority: TaskPriority? {
        switch QualityOfService(rank: rankInForce) {
        case .userInteractive, .userInitiated: .userInitiated
        case .default: nil
        case .utility: .utility
        case .background: .background
        }
    }
}
