import OperationsRuntime
import Synchronization

extension OperationQueue {
    /// Suspends until fewer than `limit` operations of the queue are unfinished, not counting
    /// barriers.
    ///
    /// Callers are served in the order in which they came, whatever their limits are. By the time
    /// this method returns, other callers may have added operations; ``acquireCapacity(below:)``
    /// reserves capacity for the caller instead. From a request for capacity on, until the queue is
    /// empty, it hands operations to its workers one by one, which costs some of its speed.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before or during the wait.
    /// - Precondition: `limit` is more than 0.
    package final func waitForCapacity(below limit: Int) async throws {
        _ = try await acquireCapacity(below: limit)
    }

    /// Waits as ``waitForCapacity(below:)`` does, and reserves capacity for one operation.
    ///
    /// Reservations count as operations. However many callers wait, those that add their operations
    /// with ``CapacityReservation/add(_:)`` never bring the queue above `limit` operations.
    ///
    /// - Parameter time: how long to wait; nil for as long as it takes.
    /// - Throws: also ``OperationQueueFull``, once that time has passed.
    package final func acquireCapacity(
        below limit: Int, within time: Duration? = nil
    ) async throws -> CapacityReservation {
        try Task.checkCancellation()
        if let reservation = reserveCapacity(below: limit) { return reservation }
        if let time, time <= .zero {
            throw OperationQueueFull(queue: label, capacity: limit, duration: .zero)
        }
        let wait = BlockedWait.task(forCapacityIn: self, below: limit)
        let companion = waitBegins()
        defer {
            companion?.waitEnded()
            wait?.end()
        }
        if let refusal = wait?.refusal { throw refusal }
        let ticket = capacityTickets.wrappingAdd(1, ordering: .relaxed).newValue
        var timer: (any ScheduledAction)?
        defer { timer?.cancel() }
        let isAdmitted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waitForCapacity(below: limit, ticket: ticket, continuation)
                // The cancellation handler may have run before the waiter was in the queue.
                if Task.isCancelled { cancelCapacityWait(ticket) }
                // So may the timer, if it were set earlier.
                timer = time.map { time in
                    self.time.schedule(after: time.limitedToLongestTime) { [self] in
                        cancelCapacityWait(ticket)
                    }
                }
            }
        } onCancel: {
            cancelCapacityWait(ticket)
        }
        guard isAdmitted else {
            try Task.checkCancellation()
            throw OperationQueueFull(queue: label, capacity: limit, duration: time ?? .zero)
        }
        return CapacityReservation(queue: self)
    }

    /// Reserves capacity for one operation, if there is any and nobody waits for it.
    final func reserveCapacity(below limit: Int) -> CapacityReservation? {
        guard limit > 0 else {
            misuse(
                "\(label) never has capacity below \(limit) operations: nothing would ever be added; "
                    + "use 1 or more")
        }
        let isReserved = usingCapacity { $0.reserveCapacityAtOnce(below: limit) }
        return isReserved ? CapacityReservation(queue: self) : nil
    }

    /// Performs an event that counts the operations. Before that, in a hold of the lock of its own,
    /// each operation begins to leave right after its end. If the queue becomes empty between the
    /// two holds, that begins anew.
    ///
    /// - Parameter body: returns nil if operations do not leave right after their end yet.
    private func usingCapacity(_ body: (inout QueueState) -> Bool?) -> Bool {
        while true {
            if let result = event(body) { return result }
            eventOffering { $0.beginLeavingOneByOne() }
        }
    }

    private func waitForCapacity(
        below limit: Int, ticket: Int, _ continuation: CheckedContinuation<Bool, Never>
    ) {
        let hasCapacity = usingCapacity { state in
            let isReserved = state.reserveCapacityAtOnce(below: limit)
            if isReserved == false {
                state.limits?.capacity.insert(continuation, limit: limit, ticket: ticket)
            }
            return isReserved
        }
        if hasCapacity { continuation.resume(returning: true) }
    }

    /// Removes a capacity waiter that gives up: its task was cancelled, or its time is over.
    private func cancelCapacityWait(_ ticket: Int) {
        let (continuation, admitted) = event { $0.capacityWaiterLeft(ticket) }
        continuation?.resume(returning: false)
        for waiter in admitted { waiter.wake() }
    }

    fileprivate func releaseReservation() {
        let admitted = event { $0.reservationReleased() }
        for waiter in admitted { waiter.wake() }
    }
}

/// The last ticket of a capacity waiter. A task draws its ticket before it waits, because its
/// cancellation may come first.
private let capacityTickets = Atomic<Int>(0)

/// The error of an addition that has waited for capacity for as long as it may; see
/// ``OperationQueue/add(_:capacity:within:body:file:line:)``.
public struct OperationQueueFull: Error, Sendable, Hashable, CustomStringConvertible {
    /// The queue, as messages name it.
    public let queue: String
    /// The number of operations that the queue was not to exceed.
    public let capacity: Int
    /// How long the addition has waited.
    public let duration: Duration

    /// Makes an error about a queue.
    public init(queue: String, capacity: Int, duration: Duration) {
        (self.queue, self.capacity, self.duration) = (queue, capacity, duration)
    }

    /// A message for people.
    public var description: String {
        "\(queue) still held \(capacity) operation\(capacity == 1 ? "" : "s"), which is its "
            + "capacity, after \(duration.text)"
    }
}

/// Capacity for one operation in a queue, reserved until this value ends or an operation was added
/// with it.
package struct CapacityReservation: ~Copyable, Sendable {
    package let queue: OperationQueue

    fileprivate init(queue: OperationQueue) { self.queue = queue }

    deinit { queue.releaseReservation() }

    /// Adds an operation, and then releases the reservation.
    ///
    /// In between, the operation counts twice, so there are never too many. A caller may add one
    /// operation in any other way instead, if this value lives until then.
    package consuming func add(_ operation: consuming Operation) {
        let isExpected = queue.expect(operation)
        queue.addOperation(operation)
        // An override may not have added it.
        if isExpected { queue.forgetAddition(of: operation) }
    }
}
