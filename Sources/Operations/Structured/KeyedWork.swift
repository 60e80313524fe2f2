/// An operation that several tasks wait for, and the priorities that these tasks gave.
///
/// The protocol: a task enters with a priority and gets a ticket. It leaves with the ticket when
/// the operation has finished, or when the task is cancelled. If the last task leaves before the
/// operation has finished, that task cancels the operation. After the last task has left, no other
/// task can enter.
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
        var operation: Operation?
        /// The priorities of the waiting tasks, by ticket.
        var priorities: [Int: Operation.QueuePriority] = [:]
        var lastTicket = 0
        /// Whether the last task has left.
        var isAbandoned = false
        var applied: Operation.QueuePriority
        var needsApplying = false
        var isApplying = false
        /// The waits of the body, by a number of their own.
        var inputs: [Int: Input] = [:]
        var lastInput = 0

        var highest: Operation.QueuePriority? { priorities.values.max() }

        mutating func prioritiesChanged() {
            if let highest, highest != applied { needsApplying = true }
        }
    }

    private let state: Locked<State>

    /// - Parameter priority: the priority of the operation when it is added.
    init(priority: Operation.QueuePriority) {
        state = Locked(State(applied: priority))
    }

    /// The operation, once ``begin(_:)`` has set it.
    var operation: Operation? { state.withLock { $0.operation } }

    /// Sets the operation. Called before other tasks can find this object.
    func begin(_ operation: Operation) { state.withLock { $0.operation = operation } }

    // MARK: Waiting tasks

    /// Registers a waiting task; returns its ticket, or nil if the operation will have no result
    /// for it. Call ``applyPriority()`` next.
    func enter(_ priority: Operation.QueuePriority) -> Int? {
        state.withLock { state in
            guard !state.isAbandoned, state.operation?.canBeJoined == true else { return nil }
            state.lastTicket += 1
            state.priorities[state.lastTicket] = priority
            state.prioritiesChanged()
            return state.lastTicket
        }
    }

    /// Removes a task whose wait is over.
    ///
    /// - Returns: whether no task waits any longer.
    func leave(_ ticket: Int) -> Bool {
        let isLast = state.withLock { state in
            state.priorities[ticket] = nil
            state.prioritiesChanged()
            if state.priorities.isEmpty { state.isAbandoned = true }
            return state.isAbandoned
        }
        applyPriority()
        return isLast
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

    /// Enters the work with the key, or `new`, whose operation has not been added yet.
    ///
    /// - Returns: the work, the ticket, and whether it is the new work.
    func enter(
        _ key: OperationKey, _ priority: Operation.QueuePriority, new: KeyedWork
    ) -> (work: KeyedWork, ticket: Int, isNew: Bool) {
        let (work, ticket, isNew, replaced) = table.change(key) {
            entry -> (KeyedWork, Int?, Bool, KeyedWork?) in
            if let work = entry, let ticket = work.enter(priority) {
                return (work, ticket, false, nil)
            }
            defer { entry = new }
            return (new, new.enter(priority), true, entry)
        }
        withExtendedLifetime(replaced) {}
        guard let ticket else { preconditionFailure("new work can be entered") }
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
