import Synchronization

/// Operations that are about to be added to a queue together.
struct Addition {
    let operations: [Operation]
    /// Whether the operations are reserved for the queue: no other thread can start them, or add
    /// them elsewhere.
    let isReserved: Bool
    /// The operation of the queue of which these are parts; nil for others. It executes. Its parts
    /// go before all that was added after it.
    let leader: Operation?

    init(of operations: [Operation], isReserved: Bool = false, behind leader: Operation? = nil) {
        (self.operations, self.isReserved, self.leader) = (operations, isReserved, leader)
    }

    /// Returns the addition after it has reserved the operations for a queue.
    ///
    /// - Throws: if one of them cannot be added. Then none is reserved.
    func reserved(for queue: OperationQueue) throws(OperationMisuse) -> Addition {
        if isReserved { return self }
        try queue.reserve(operations)
        return Addition(of: operations, isReserved: true, behind: leader)
    }
}

/// What a feature does around each addition to a queue. See Doors.md.
///
/// The steps of a queue surround each other: each calls the next one, and the last of them adds the
/// operations. They are called with no lock held.
protocol AdditionStep: Sendable {
    typealias Next = (Addition) throws(OperationMisuse) -> Void

    /// Where the step stands among those of the queue.
    var turn: AdditionTurn { get }

    /// Whether the step gets operations before they are reserved, and parts of operations that
    /// execute; false unless a step says so.
    var isBeforeReserving: Bool { get }

    /// Passes an addition to the next step, whole or in parts.
    ///
    /// What a step cancels is added nevertheless, so that it ends as any other. Once the operations
    /// are reserved, nothing throws any more.
    func add(
        _ addition: Addition, to queue: OperationQueue, next: Next
    ) throws(OperationMisuse)
}

extension AdditionStep {
    var isBeforeReserving: Bool { false }
}

/// Where a step stands among those of a queue: the lowest turn surrounds the others. Each feature
/// declares its own, in a constant; Doors.md has all of them in their order.
struct AdditionTurn: Hashable {
    let rank: Int

    /// The queue was shut down, which attempts ask for, too. What is refused takes no room.
    static var refusing: AdditionTurn { AdditionTurn(rank: 30) }
}

extension OperationQueue {
    /// Begins to take a step with each addition, unless the queue has one of its turn already.
    final func insert(_ step: any AdditionStep) {
        event { _ in insertUnderLock(step) }
    }

    /// The caller holds the queue's lock.
    final func insertUnderLock(_ step: any AdditionStep) {
        guard !additionSteps.contains(where: { $0.turn == step.turn }) else { return }
        let index = additionSteps.firstIndex { $0.turn.rank > step.turn.rank }
        additionSteps.insert(step, at: index ?? additionSteps.endIndex)
        // Who shuts a queue down then looks for operations on hold; who puts one on hold then reads
        // this. One of them must see the other.
        _ = hasAdditionSteps.exchange(true, ordering: .sequentiallyConsistent)
    }

    /// Takes the step of a turn no more. The caller holds the queue's lock.
    final func removeStepUnderLock(_ turn: AdditionTurn) {
        additionSteps.removeAll { $0.turn == turn }
        hasAdditionSteps.store(!additionSteps.isEmpty, ordering: .releasing)
    }

    /// Whether the queue takes a step of this turn.
    final func hasStep(_ turn: AdditionTurn) -> Bool {
        hasAdditionSteps.load(ordering: .acquiring)
            && snapshot { _ in additionSteps.contains { $0.turn == turn } }
    }
}
