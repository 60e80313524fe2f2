import Synchronization

extension OperationQueue {
    /// Suspends until fewer than `limit` operations of the queue are unfinished; barriers are not counted.
    ///
    /// Who came first is served first, whatever the limits are. By the time that this returns others may have added
    /// operations: with ``reserveRoom(below:)`` they cannot. From the first wait for room on the queue hands
    /// operations to its workers one by one, which costs some of its speed.
    ///
    /// - Throws: `CancellationError` if the task is, or while this waits becomes, cancelled.
    /// - Precondition: `limit` is more than 0.
    package final func waitForRoom(below limit: Int) async throws {
        _ = try await reserveRoom(below: limit)
    }

    /// As ``waitForRoom(below:)``, and keeps a place for the caller.
    ///
    /// The places that are kept count as operations: however many wait, those who add what they wanted to by
    /// ``ReservedPlace/add(_:)`` never make more than `limit` of it.
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
                // The handler may have come before there was anything to take out of the line.
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

    /// The task of somebody in the line was cancelled.
    private func giveUpRoom(_ number: Int) {
        let (continuation, admitted) = event { state in
            let continuation = state.room.remove(number)
            // Those behind may be content with more operations.
            return (continuation, state.room.isWaitedFor ? state.admitted() : [])
        }
        continuation?.resume(returning: false)
        for waiter in admitted { waiter.wake() }
    }

    fileprivate func takeBackPlace() {
        let admitted = event { state in
            state.room.placeReturned()
            return state.room.isWaitedFor ? state.admitted() : []
        }
        for waiter in admitted { waiter.wake() }
    }
}

private let roomWaiterNumbers = Atomic<Int>(0)

/// Room for one operation in a queue, until this value ends or an operation was added with it.
package struct ReservedPlace: ~Copyable, Sendable {
    package let queue: OperationQueue

    fileprivate init(queue: OperationQueue) { self.queue = queue }

    deinit { queue.takeBackPlace() }

    /// Adds an operation, and then gives the place back.
    ///
    /// In between it counts twice, so there are never too many. Whatever else adds one operation to the queue
    /// may be done in place of this, if this value lives until then.
    package consuming func add(_ operation: consuming Operation) {
        queue.addOperation(operation)
    }
}
