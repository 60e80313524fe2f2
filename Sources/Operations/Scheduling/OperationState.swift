/// The life of one operation.
///
/// Pure: no locks, no calls of anything that can be overridden. Each method is one event; what it
/// returns is what the caller must do after the lock is released. The states and the events between
/// them are drawn in Scheduling.md.
struct OperationState {
    enum Phase {
        /// Made, in no queue. → `waiting`, `executing`, `finished`.
        case created
        /// In a queue, not in its ready list. → `filed`, `finished`.
        case waiting
        /// In its queue's ready list. → `waiting`, `claimed`, `finished`.
        case filed
        /// Taken by a worker that has not called `start()` yet. → `waiting`, `starting`, `finished`.
        case claimed
        /// The queue has called `start()`; a subclass that replaces it stays here. → `executing`, `finished`.
        case starting
        /// Inside the default `start()`. → `finished`.
        case executing
        /// Terminal.
        case finished
    }

    private(set) var phase = Phase.created
    private(set) var isCancelled = false
    /// Its whole queue is being cancelled and its own `cancel()` is about to be called. Until then
    /// ``isCancelled`` stays false, because overrides of `cancel()` look at it.
    private(set) var isDoomed = false
    /// `main()` has returned; over, unless a subclass says otherwise.
    private(set) var hasReturned = false
    /// Tells the live entry in the ready list from stale ones.
    private(set) var ticket: UInt64 = 0
    /// True while the operation counts towards its queue's width.
    private(set) var holdsSlot = false

    /// The queue, from enqueueing until the end.
    private(set) var queue: OperationQueue?
    /// Place in the queue's list.
    private(set) var sequence: UInt64 = 0
    /// Turn among the ready operations of the same priority.
    private(set) var order: UInt64 = 0

    private(set) var dependencies: [Operation] = []
    private var dependencyIDs: Set<ObjectIdentifier> = []
    private var unfinishedDependencyIDs: Set<ObjectIdentifier> = []
    private(set) var dependents: [WeakOperation] = []
    private(set) var waiters: [Waiter] = []

    var name: String?
    private(set) var completionBlock: (@Sendable () -> Void)?
    private(set) var priority = Operation.QueuePriority.normal
    var qualityOfService = QualityOfService.default
    var threadPriority = 0.5

    var hasUnfinishedDependencies: Bool { !unfinishedDependencyIDs.isEmpty }

    /// What the base class answers for `isReady`.
    var isReady: Bool { isCancelled || unfinishedDependencyIDs.isEmpty }
}

// MARK: - Queue

extension OperationState {
    enum EnqueueResult: Equatable { case accepted, finished, executing, alreadyInQueue }

    mutating func enqueued(in queue: OperationQueue, sequence: UInt64) -> EnqueueResult {
        switch phase {
        case .created:
            phase = .waiting
            self.queue = queue
            self.sequence = sequence
            order = sequence
            return .accepted
        case .waiting, .filed, .claimed:
            return .alreadyInQueue
        case .starting, .executing:
            return .executing
        case .finished:
            return .finished
        }
    }

    /// Whether it is worth asking `isReady`.
    var mayBeFiled: Bool { phase == .waiting && isReady }

    struct Filing {
        let queue: OperationQueue
        let ticket: UInt64
        let order: UInt64
        let lane: ReadyList.Lane
    }

    /// `isReady` said yes (or need not be asked): draws a ticket for the ready list.
    mutating func readinessConfirmed() -> Filing? {
        guard mayBeFiled, let queue else { return nil }
        phase = .filed
        ticket += 1
        return Filing(
            queue: queue, ticket: ticket, order: order,
            lane: isCancelled ? .cancelled : .priority(priority))
    }

    /// Takes the operation out of the ready list, where its entry becomes stale.
    private mutating func unfile() {
        guard phase == .filed else { return }
        phase = .waiting
        ticket += 1
    }

    /// A worker found the entry `ticket` at the head of the ready list.
    mutating func claimed(ticket: UInt64, takesSlot: Bool) -> Bool {
        guard phase == .filed, self.ticket == ticket else { return false }
        phase = .claimed
        holdsSlot = takesSlot
        return true
    }

    /// Whether the entry `ticket` still stands.
    func isFiled(ticket: UInt64) -> Bool { phase == .filed && self.ticket == ticket }

    /// The `isReady` override has turned false after the claim; true if a slot is to be given back.
    mutating func claimReturned() -> Bool {
        guard phase == .claimed else { return false }
        phase = .waiting
        defer { holdsSlot = false }
        return holdsSlot
    }

    /// The worker is about to call `start()`; false if the operation has finished meanwhile.
    mutating func startingFromQueue() -> Bool {
        guard phase == .claimed else { return false }
        phase = .starting
        if isDoomed { isCancelled = true }
        return true
    }
}

// MARK: - Starting, cancelling, finishing

extension OperationState {
    enum StartResult { case begun, finishWithoutMain, alreadyFinished, executing, enqueued }

    /// The default `start()` was entered.
    mutating func startRequested(isCancelled: Bool) -> StartResult {
        switch phase {
        case .created, .starting:
            if isCancelled || isDoomed { return .finishWithoutMain }
            phase = .executing
            return .begun
        case .waiting, .filed, .claimed:
            return .enqueued
        case .executing:
            return .executing
        case .finished:
            return .alreadyFinished
        }
    }

    mutating func cancelRequested() {
        guard phase != .finished, !isCancelled else { return }
        isCancelled = true
        // From now on it belongs to the lane that needs no slot.
        unfile()
    }

    /// Its queue cancels everything; its own turn comes in a moment.
    mutating func doomed() {
        if phase != .finished { isDoomed = true }
    }

    /// `main()` came back.
    mutating func returned() { hasReturned = true }

    struct Ending: Sendable {
        let waiters: [Waiter]
        let dependents: [WeakOperation]
        let completionBlock: (@Sendable () -> Void)?
        let gaveBackSlot: Bool
    }

    /// The first call ends the operation; later ones return nil.
    mutating func finished() -> Ending? {
        guard phase != .finished else { return nil }
        phase = .finished
        let ending = Ending(
            waiters: waiters, dependents: dependents, completionBlock: completionBlock,
            gaveBackSlot: holdsSlot)
        waiters = []
        dependents = []
        completionBlock = nil
        holdsSlot = false
        queue = nil
        return ending
    }

    /// False if there is nothing to wait for.
    mutating func waiterArrived(_ waiter: Waiter) -> Bool {
        guard phase != .finished else { return false }
        waiters.append(waiter)
        return true
    }

    /// Returns true if the ready list must be told. `order` is its turn among the new priority.
    mutating func priorityChanged(to priority: Operation.QueuePriority, order: UInt64?) -> Bool {
        guard priority != self.priority else { return false }
        self.priority = priority
        if let order { self.order = order }
        guard phase == .filed, !isCancelled else { return false }
        unfile()
        return true
    }

    /// Returns the block that was there, to be let go of after the lock is released.
    mutating func completionBlockSet(_ block: (@Sendable () -> Void)?) -> (@Sendable () -> Void)? {
        guard phase != .finished else { return block }
        defer { completionBlock = block }
        return completionBlock
    }
}

// MARK: - Dependencies

extension OperationState {
    /// Counts the edge; false if it exists already or can have no effect any more.
    mutating func dependencyAdded(_ dependency: Operation) -> Bool {
        let id = ObjectIdentifier(dependency)
        guard dependencyIDs.insert(id).inserted else { return false }
        dependencies.append(dependency)
        unfinishedDependencyIDs.insert(id)
        if !isCancelled { unfile() }
        return true
    }

    /// Returns true if that was the last one it waited for.
    mutating func dependencyRemoved(_ dependency: Operation) -> Bool {
        let id = ObjectIdentifier(dependency)
        guard dependencyIDs.remove(id) != nil else { return false }
        dependencies.removeAll { $0 === dependency }
        return dependencyFinished(id)
    }

    /// Returns true if that was the last one it waited for.
    mutating func dependencyFinished(_ id: ObjectIdentifier) -> Bool {
        unfinishedDependencyIDs.remove(id) != nil && unfinishedDependencyIDs.isEmpty
    }

    /// False if there is nothing to wait for: the caller takes the edge back.
    mutating func dependentArrived(_ dependent: Operation) -> Bool {
        guard phase != .finished else { return false }
        dependents.append(WeakOperation(dependent))
        return true
    }

    mutating func dependentLeft(_ dependent: Operation) {
        let id = ObjectIdentifier(dependent)
        dependents.removeAll { $0.id == id }
    }

    mutating func takeDependencies() -> [Operation] {
        defer { dependencies = [] }
        return dependencies
    }
}

/// A dependent is kept alive by its queue or its owner, not by what it waits for.
struct WeakOperation: Sendable {
    /// Compared instead of the reference, whose reading could make this the last owner, under a lock.
    let id: ObjectIdentifier
    private(set) weak var operation: Operation?

    init(_ operation: Operation) {
        self.id = ObjectIdentifier(operation)
        self.operation = operation
    }
}

/// Somebody who is told that an operation, or all of a queue's, have finished.
enum Waiter: Sendable {
    case thread(Gate)
    case task(CheckedContinuation<Void, Never>)

    func wake() {
        switch self {
        case .thread(let gate): gate.open()
        case .task(let continuation): continuation.resume()
        }
    }
}
