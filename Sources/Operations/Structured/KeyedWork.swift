import OperationsRuntime

/// An operation that several tasks wait for, and the priorities that these tasks gave.
///
/// The protocol: a task enters with a priority and gets a ticket. It leaves with the ticket when
/// the operation has finished, or when the task is cancelled. If the last task leaves before the
/// operation has finished, that task cancels the operation. After the last task has left, no other
/// task can enter.
///
/// A result that is to be kept is joined like an operation that runs. The first task that finds the
/// operation finished begins to keep the result, and sets a timer, which ends that.
///
/// The body of the operation holds this object, so this object must not hold the operation for
/// longer than tasks wait for it: the two would keep each other alive. The operation is set when
/// the first task enters, and taken when the last task leaves. An operation that was made in vain,
/// because its task joins other work, is never set.
///
/// The body of the operation may itself wait for other shared work. Such a wait is an input: its
/// priority follows the priority of this work. One thread at a time applies priorities. Each change
/// sets `needsApplying`, and the thread that applies looks at it again when it is done. So the last
/// change decides, although no lock is held while priorities are applied.
final class KeyedWork: Sendable {
    /// The shared work whose body the current task runs.
    @TaskLocal static var current: KeyedWork?

    struct Input: Sendable {
        let work: KeyedWork
        let ticket: Int
        /// The priority that the wait itself asked for.
        let priority: Operation.QueuePriority
    }

    private struct State {
        /// The operation, while tasks wait for it.
        var operation: Operation?
        /// The priorities of the waiting tasks, by ticket.
        var priorities: [Int: Operation.QueuePriority] = [:]
        var lastTicket = 0
        /// Whether the last task has left, or the result is no longer kept.
        var isAbandoned = false
        /// For how long the result is to be kept.
        let timeToKeep: Duration?
        var isKept = false
        var applied: Operation.QueuePriority
        var needsApplying = false
        var isApplying = false
        /// The waits of the body, by a number of their own.
        var inputs: [Int: Input] = [:]
        var lastInput = 0

        var highest: Operation.QueuePriority? { priorities.values.max() }

        /// Whether there is a result to keep.
        var hasResultToKeep: Bool {
            guard timeToKeep != nil, let state = operation?.status else { return false }
            return state.phase == .finished && state.outcome == .succeeded
        }

        mutating func enter(_ priority: Operation.QueuePriority) -> Int {
            lastTicket += 1
            priorities[lastTicket] = priority
            prioritiesChanged()
            return lastTicket
        }

        mutating func prioritiesChanged() {
            if let highest, highest != applied { needsApplying = true }
        }
    }

    private let state: Locked<State>

    /// - Parameters:
    ///   - priority: the priority of the operation when it is added.
    ///   - time: for how long the result is kept; not at all if nil, or not positive.
    init(priority: Operation.QueuePriority, keepingFor time: Duration? = nil) {
        let time = time.flatMap { $0 > .zero ? $0.limitedToLongestTime : nil }
        state = Locked(State(timeToKeep: time, applied: priority))
    }

    /// The operation; nil before ``begin(_:_:)`` and after the last task has left.
    var operation: Operation? { state.withLock { $0.operation } }

    // MARK: Waiting tasks

    /// Sets the operation and registers its first task. Called before other tasks can find this
    /// object. Returns the ticket of the task.
    func begin(_ operation: Operation, _ priority: Operation.QueuePriority) -> Int {
        state.withLock { state in
            state.operation = operation
            return state.enter(priority)
        }
    }

    /// Registers a waiting task; returns its ticket, or nil if the operation will have no result
    /// for it. Call ``applyPriority()`` next.
    func enter(_ priority: Operation.QueuePriority) -> Int? {
        state.withLock { state in
            guard !state.isAbandoned,
                state.operation?.canBeJoined == true || state.hasResultToKeep
            else { return nil }
            return state.enter(priority)
        }
    }

    /// Removes a task whose wait is over.
    ///
    /// - Returns: whether no task waits any longer.
    func leave(_ ticket: Int) -> Bool {
        let (isLast, operation) = state.withLock { state -> (Bool, Operation?) in
            state.priorities[ticket] = nil
            state.prioritiesChanged()
            guard state.priorities.isEmpty, !state.isKept else { return (false, nil) }
            state.isAbandoned = true
            return (true, state.operation.take())
        }
        // This may be the last reference, and must not be released under the lock.
        withExtendedLifetime(operation) {}
        applyPriority()
        return isLast
    }

    // MARK: Keeping the result

    /// Begins to keep the result, if there is one to keep. Returns for how long, to the first
    /// caller only.
    func beginKeeping() -> Duration? {
        state.withLock { state in
            guard !state.isKept, !state.isAbandoned, state.hasResultToKeep else { return nil }
            state.isKept = true
            return state.timeToKeep
        }
    }

    /// Whether the result is kept, so that further tasks may enter.
    var isKept: Bool { state.withLock { $0.isKept } }

    /// Releases the result, unless tasks are just reading it: then the last of them does. No other
    /// task can enter.
    func endKeeping() {
        let operation = state.withLock { state in
            state.isKept = false
            state.isAbandoned = true
            return state.priorities.isEmpty ? state.operation.take() : nil
        }
        withExtendedLifetime(operation) {}
    }

    private func change(_ ticket: Int, to priority: Operation.QueuePriority) {
        state.withLock { state in
            guard state.priorities[ticket] != nil else { return }
            state.priorities[ticket] = priority
            state.prioritiesChanged()
        }
        applyPriority()
    }

    // MARK: Waits of the body

    /// Makes the priority of a wait follow the priority of this work; returns the number of the
    /// wait.
    func add(_ input: Input) -> Int {
        let number = state.withLock { state in
            state.lastInput += 1
            state.inputs[state.lastInput] = input
            state.needsApplying = true
            return state.lastInput
        }
        applyPriority()
        return number
    }

    func removeInput(_ number: Int) {
        let input = state.withLock { $0.inputs.removeValue(forKey: number) }
        withExtendedLifetime(input) {}
    }

    // MARK: Priority

    /// Gives the operation, and the waits of its body, the highest priority of the waiting tasks.
    func applyPriority() {
        while let (operation, priority, inputs) = nextApplication() {
            operation?.queuePriority = priority
            for input in inputs {
                input.work.change(input.ticket, to: max(input.priority, priority))
            }
            state.withLock { $0.isApplying = false }
        }
    }

    private func nextApplication() -> (Operation?, Operation.QueuePriority, [Input])? {
        state.withLock { state in
            guard state.needsApplying, !state.isApplying else { return nil }
            state.needsApplying = false
            state.isApplying = true
            state.applied = state.highest ?? state.applied
            return (state.operation, state.applied, Array(state.inputs.values))
        }
    }
}

/// The shared work of a queue by keys. An entry is removed when its operation has finished, or when
/// no task waits for it any longer.
final class KeyedWorkTable: Sendable {
    private let table = KeyTable<KeyedWork>()

    /// Enters the work with the key, or `new`, whose operation is the given one and has not been
    /// added yet.
    ///
    /// - Returns: the work, the ticket, and whether it is the new work.
    func enter(
        _ key: OperationKey, _ priority: Operation.QueuePriority, new: KeyedWork,
        of operation: Operation
    ) -> (work: KeyedWork, ticket: Int, isNew: Bool) {
        let (work, ticket, isNew, replaced) = table.change(key) {
            entry -> (KeyedWork, Int, Bool, KeyedWork?) in
            if let work = entry, let ticket = work.enter(priority) {
                return (work, ticket, false, nil)
            }
            defer { entry = new }
            return (new, new.begin(operation, priority), true, entry)
        }
        withExtendedLifetime(replaced) {}
        work.applyPriority()
        return (work, ticket, isNew)
    }

    func forget(_ key: OperationKey, of work: KeyedWork) {
        let forgotten = table.change(key) { entry -> KeyedWork? in
            guard entry === work else { return nil }
            defer { entry = nil }
            return entry
        }
        withExtendedLifetime(forgotten) {}
    }

    var count: Int { table.count }
}
