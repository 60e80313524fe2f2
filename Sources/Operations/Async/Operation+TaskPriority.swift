import Synchronization

extension Operation {
    /// The priority that goes with the quality of service. Nil if tasks have it anyway, and if the operation was
    /// started by hand. What was only inferred does not count before anybody in the process uses qualities: it
    /// would cost another task.
    var taskPriority: TaskPriority? {
        let quality = status.quality
        guard queueReference.load(ordering: .relaxed) != nil,
            QualityOfServiceUse.isOn || quality.property != .default
        else { return nil }
        return quality.taskPriority
    }
}

extension QualityOfServiceState {
    /// Nil for the one that tasks have anyway.
    fileprivate var taskPriority: TaskPriority? {
        switch QualityOfService(rank: rankInForce) {
        case .userInteractive, .userInitiated: .userInitiated
        case .default: nil
        case .utility: .utility
        case .background: .background
        }
    }
}
