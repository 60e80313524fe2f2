/// What a queue holds and what it may start next.
///
/// Pure, as `OperationState`; its methods take an operation's lock inside (the order is: queue, then
/// operation) and nothing else.
struct QueueState: Sendable {
    private var operations: [UInt64: Operation] = [:]
    private var nextSequence: UInt64 = 0
    private var ready = ReadyList()
    private var running = 0
    private var waiters: [Waiter] = []
    /// True while a reference to the queue lies with its executor.
    private var isOffered = false
    /// Entries that turned out to be stale. They may hold the last reference to an operation, whose
    /// `deinit` is a user's code, so they are let go of only after the lock is released.
    var discarded: [ReadyList.Entry] = []

    var name: String?
    var qualityOfService = QualityOfService.default
    private(set) var isSuspended = false
    private(set) var width = OperationQueue.defaultMaxConcurrentOperationCount

    var operationCount: Int { operations.count }

    /// In the order in which they were added.
    var operationsInOrder: [Operation] {
        operations.sorted { $0.key < $1.key }.map(\.value)
    }

    private var hasFreeSlot: Bool { width < 0 || running < width }

    private var isRunnable: Bool {
        ready.hasCancelled || (!isSuspended && hasFreeSlot && ready.hasReady)
    }

    /// True if the queue must be handed to its executor now.
    private mutating func offer() -> Bool {
        guard !isOffered, isRunnable else { return false }
        isOffered = true
        return true
    }

    /// Each operation has at most one entry that stands, so more than twice as many entries as
    /// operations are mostly stale. Without this a suspended queue would keep what was cancelled.
    private mutating func dropStaleEntries() {
        if ready.count > 2 * operations.count + 64 { discarded += ready.removeStale() }
    }

    // MARK: Events

    mutating func sequenceDrawn() -> UInt64 {
        nextSequence += 1
        return nextSequence
    }

    mutating func operationAdded(_ operation: Operation, sequence: UInt64) {
        operations[sequence] = operation
    }

    /// Returns true if the queue must be handed to its executor.
    mutating func operationFiled(_ entry: ReadyList.Entry, lane: ReadyList.Lane) -> Bool {
        ready.append(entry, to: lane)
        dropStaleEntries()
        return offer()
    }

    enum Change {
        case suspended(Bool)
        case width(Int)
    }

    /// Returns true if the queue must be handed to its executor.
    mutating func changed(_ change: Change) -> Bool {
        switch change {
        case .suspended(let isSuspended): self.isSuspended = isSuspended
        case .width(let width): self.width = width
        }
        return offer()
    }

    struct Claim: Sendable {
        let operation: Operation?
        /// True if there is more: the caller hands the queue to its executor again.
        let offersAgain: Bool
    }

    /// The executor took the queue's reference and asks for the best operation.
    mutating func executorAsked() -> Claim {
        isOffered = false
        let operation = claimCancelled() ?? claimReady()
        return Claim(operation: operation, offersAgain: offer())
    }

    private mutating func claimCancelled() -> Operation? {
        while let entry = ready.popCancelled() {
            if entry.operation.claim(ticket: entry.ticket, takesSlot: false) {
                return entry.operation
            }
            discarded.append(entry)
        }
        return nil
    }

    private mutating func claimReady() -> Operation? {
        guard !isSuspended, hasFreeSlot else { return nil }
        while let entry = ready.popBest() {
            if entry.operation.claim(ticket: entry.ticket, takesSlot: true) {
                running += 1
                return entry.operation
            }
            discarded.append(entry)
        }
        return nil
    }

    /// A claimed operation turned out not to be ready; true if the queue must be handed on.
    mutating func slotReturned() -> Bool {
        running -= 1
        return offer()
    }

    struct Departure: Sendable {
        let offers: Bool
        let waiters: [Waiter]
    }

    mutating func operationLeft(sequence: UInt64, gaveBackSlot: Bool) -> Departure {
        operations[sequence] = nil
        if gaveBackSlot { running -= 1 }
        dropStaleEntries()
        var released: [Waiter] = []
        if operations.isEmpty {
            released = waiters
            waiters = []
        }
        return Departure(offers: offer(), waiters: released)
    }

    /// False if there is nothing to wait for.
    mutating func waiterArrived(_ waiter: Waiter) -> Bool {
        guard !operations.isEmpty else { return false }
        waiters.append(waiter)
        return true
    }
}
