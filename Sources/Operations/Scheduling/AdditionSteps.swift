import Synchronization

/// What an addition to a queue must do beside adding.
///
/// Each addition reads this byte. While it is 0, reading it is all that the steps cost.
struct AdditionSteps: OptionSet {
    let rawValue: UInt8

    // These are computed, like the flags of `LifecycleState`.

    /// The queue has a companion, which is asked.
    static var companion: AdditionSteps { AdditionSteps(rawValue: 1) }
    /// The queue has a limit; see ``OperationQueue/overflow``.
    static var limiting: AdditionSteps { AdditionSteps(rawValue: 2) }
    /// The queue's progress counts additions.
    static var counting: AdditionSteps { AdditionSteps(rawValue: 4) }
    /// The queue was shut down; see ``OperationQueue/shutDown(grace:cancelsWaiting:)``.
    static var refusing: AdditionSteps { AdditionSteps(rawValue: 8) }

    static func of(_ queue: OperationQueue) -> AdditionSteps {
        AdditionSteps(rawValue: queue.additionSteps.load(ordering: .acquiring))
    }

    /// Begins or ends to take this step with each addition.
    func set(_ isTaken: Bool, in queue: OperationQueue) {
        if isTaken {
            queue.additionSteps.bitwiseOr(rawValue, ordering: .acquiringAndReleasing)
        } else {
            queue.additionSteps.bitwiseAnd(~rawValue, ordering: .acquiringAndReleasing)
        }
    }
}
