// What a driver does with the queues that it runs.

/// An operation that a driver has taken from its queue and that holds its slot there.
package struct TakenOperation: Sendable {
    package let operation: Operation
    package let queue: OperationQueue

    /// Runs the operation on the calling thread. An async body runs up to where it first waits.
    package func run() { operation.runClaimed(in: queue) }
}

extension OperationQueue {
    /// Takes the operation that comes next in the order of the queue; nil if there is none left.
    package final func takeNext() -> TakenOperation? {
        // A queue with a driver gives its operations out one by one, never a claim.
        switch claim(Claim(), for: .driver) {
        case .single(let reference):
            return TakenOperation(operation: reference.takeRetainedValue(), queue: self)
        case .refused(let reference):
            reference.takeRetainedValue().notifyObservers()
            return nil
        case .none, .claim: return nil
        }
    }

    /// Whether a second slot may take an operation before the operation that took the first slot
    /// begins.
    package final var canTakeSeveral: Bool {
        snapshot { state in
            state.ready.count > 1
                && (!state.slots.isLimited || state.slots.taken + 1 < state.slots.width)
        }
    }

    /// Whether the queue is suspended or has a width of 0, and so starts nothing.
    package final var isOnHold: Bool { snapshot { $0.slots.isSuspended || $0.slots.width == 0 } }

    /// All unfinished operations, barriers included, in the order in which they were added.
    package final var unfinished: [Operation] {
        snapshot { $0.operations(includingBarriers: true) }
    }
}

extension Operation {
    /// The operation's place in its queue's ring while the operation is there. Operations that were
    /// added later have higher places.
    package final var placeInQueue: Int { place }

    package final var isBarrier: Bool { status.has(.barrier) }

    package final var isAtWork: Bool { status.isAtWork }
}
