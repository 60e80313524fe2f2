import Synchronization

extension OperationQueue {
    /// Suspends until fewer than `limit` operations of the queue are unfinished, not counting
    /// barriers.
    ///
    /// Callers are served in the order in which they came, whatever their limits are. By the time
    /// this method returns, other callers may have added operations; ``reserveRoom(below:)`` keeps
    /// a place for the caller instead. From the first wait for capacity on, the queue hands
    /// operations to its workers one by one, which costs some of its speed.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before or during the wait.
    /// - Precondition: `limit` is more than 0.
    package final func waitForRoom(below limit: Int) async throws {
        _ = try await reserveRoom(below: limit)
    }

    /// Waits as ``waitForRoom(below:)`` does, and reserves a place for the caller.
    ///
    /// Reserved places count as operations. However many callers wait, those that add their
    /// operations with ``ReservedPlace/add(_:)`` never bring the queue above `limit` operations.
    package final func reserveRoom(below limit: Int) async throws -> ReservedPlace {
        guard limit > 0 else {
            misuse(
                "\(label) never has room within \(limit) operations: nothing would ever be added; "
                    + "use 1 or more")
        }
        try Task.checkCancellation()
        if !snapshot({ $0.room.isUsed }) { eventOffering { $0.beginLeavingOneByOne() } }
        if event({ $0.placeAtOnce(below: limit) }) { return ReservedPlace(queue: self) }
        let wait = BlockedWait.task(forRoomIn: self, below: limit)
        defer { wait?.end() }
        let number = roomWaiterNumbers.wrappingAdd(1, ordering: .relaxed).newValue
        let isAdmitted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waitForRoom(below: limit, number: number, continuation)
                // The cancellation handler may have run before the waiter was in the line.
                if Task.isCancelled { giveUpRoom(number) }
            }
        } onCancel: {
            giveUpRoom(number)
        }
        guard isAdmitted else { throw CancellationError() }
        return ReservedPlace(queue: self)
    }

    private func waitForRoom(
        below limit: Int, number: Int, _ continuation: CheckedContinuation<Bool, Never>
    ) {
        let hasPlace = event { state in
            if state.placeAtOnce(below: limit) { return true }
            state.room.append(continuation, number: number, limit: limit)
            return false
        }
        if hasPlace { continuation.resume(returning: true) }
    }

    /// Removes a capacity waiter whose task was cancelled.
    private func giveUpRoom(_ number: Int) {
        let (continuation, admitted) = event { state in
            let continuation = state.room.remove(number)
            // The waiters behind this one may allow more operations, so they may be admitted now.
            return (continuation, state.room.isWaitedFor ? state.admittedWaiters() : [])
        }
        continuation?.resume(returning: false)
        for waiter in admitted { waiter.wake() }
    }

    fileprivate func takeBackPlace() {
        let admitted = event { state in
            state.room.placeReturned()
            return state.room.isWaitedFor ? state.admittedWaiters() : []
        }
        for waiter in admitted { waiter.wake() }
    }
}

private let roomWaiterNumbers = Atomic<Int>(0)

/// Capacity for one operation in a queue, reserved until this value ends or an operation was added
/// with it.
package struct ReservedPlace: ~Copyable, Sendable {
    package let queue: OperationQueue

    fileprivate init(queue: OperationQueue) { self.queue = queue }

    deinit { queue.takeBackPlace() }

    /// Adds an operation, and then gives the place back.
    ///
    /// In between, the operation counts twice, so there are never too many. A caller may add one
    /// operation in any other way instead, if this value lives until then.
    package consuming func add(_ operation: consuming Operation) {
        queue.addOperation(operation)
    }
}
