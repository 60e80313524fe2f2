import OperationsRuntime
import Synchronization

/// A wait of a thread or a task inside operations that cannot continue before the wait ends.
///
/// The wait is registered while it lasts, so that a thread that closes a circle of waits finds it.
/// Waits outside operations are not recorded: nothing waits for them.
struct BlockedWait: Sendable {
    enum Target: Sendable {
        case operation(Operation)
        /// - Parameter end: The end of the queue's places when the wait began. The wait lasts at
        ///   least while an operation before `end` is unfinished; about later operations nothing is
        ///   known.
        case queue(OperationQueue, end: Int)
        /// All of these operations.
        case operations([Operation])
        /// Fewer unfinished operations in the queue than `below`.
        case capacity(OperationQueue, below: Int)

        static func queue(_ queue: OperationQueue) -> Target {
            .queue(queue, end: queue.snapshot { $0.end })
        }

        var isOver: Bool {
            switch self {
            case .operation(let operation): operation.status.phase == .finished
            case .queue(let queue, _): queue.snapshot { $0.isEmpty }
            case .operations(let operations): operations.allSatisfy { $0.status.phase == .finished }
            case .capacity(let queue, let limit): queue.snapshot { $0.operationCount < limit }
            }
        }
    }

    let target: Target
    /// The operations inside which the wait happens, the outermost first. They are executing, so
    /// they stay alive.
    let inside: [Operation]
    private let number: Int
    /// Why the caller must not wait: the wait can never end, which was reported.
    var refusal: OperationMisuse?

    /// Records a wait. Returns nil if the wait is over already or keeps no operation from
    /// finishing.
    ///
    /// - Parameters:
    ///   - operations: The operations that the caller is inside.
    ///   - isRepeated: Whether the wait is checked from time to time for as long as it lasts.
    static func begin(
        _ target: @autoclosure () -> Target, inside operations: [Operation],
        isRepeated: Bool = false
    ) -> BlockedWait? {
        // The `start()` of a subclass may block while other code finishes the operation.
        let inside = operations.filter { $0.status.phase == .executing }
        guard !inside.isEmpty else { return nil }
        let target = target()
        guard !target.isOver else { return nil }
        let number = registry.withLock {
            $0.add(Registry.Wait(target: target, isRepeated: isRepeated), inside: inside)
        }
        return BlockedWait(target: target, inside: inside, number: number)
    }

    func end() {
        Self.registry.withLock { $0.remove(number, target, inside: inside) }
    }

    /// Returns the same wait, extended to the operations that have been added to its queue up to
    /// now, if there are any and the wait is still going on; otherwise nil.
    ///
    /// - Parameter latch: The latch for which the thread waits.
    func extended(_ latch: Latch) -> BlockedWait? {
        guard case .queue(let queue, let oldEnd) = target,
            let end = queue.snapshot({ $0.isAwaited(by: latch) ? $0.end : nil }), end != oldEnd
        else { return nil }
        let target = Target.queue(queue, end: end)
        Self.registry.withLock { $0.replace(number, with: target, inside: inside) }
        return BlockedWait(target: target, inside: inside, number: number)
    }

    // MARK: For searches

    /// Returns the targets of the waits inside an operation.
    static func targets(in operation: Operation) -> [Target] {
        registry.withLock { registry in
            registry.entries[ObjectIdentifier(operation)].map { $0.waits.values.map(\.target) }
                ?? []
        }
    }

    /// Whether other waits would find a circle that contains this wait, so that this wait need not
    /// be searched again.
    ///
    /// That is so if the target consists of executing operations and all waits inside them are
    /// repeated: a circle through this wait goes through one of those waits. The waits of a circle
    /// cannot all rely on each other, because a circle of nothing but waits was found when the last
    /// of them began, or was extended; so any later circle contains a wait that is searched again.
    var isCheckedByOthers: Bool {
        let operations: [Operation]
        switch target {
        case .operation(let operation): operations = [operation]
        case .queue(let queue, let end):
            operations = queue.snapshot { state in
                state.operations(includingBarriers: true).filter { $0.place < end }
            }
        case .operations, .capacity: return false
        }
        guard operations.allSatisfy({ $0.status.phase == .executing }) else { return false }
        return Self.registry.withLock { registry in
            operations.allSatisfy { operation in
                registry.entries[ObjectIdentifier(operation)]?.waits.values
                    .allSatisfy(\.isRepeated) ?? true
            }
        }
    }

    /// Whether an operation that contains the wait may hold back anything. If not, no chain from
    /// the target leads back to the wait, however long the chain is.
    var mayHoldBackOthers: Bool { inside.contains { Self.mayHoldBackOthers($0) } }

    private static func mayHoldBackOthers(_ operation: Operation) -> Bool {
        if operation.status.has(.hasSuccessors) || operation.attemptController?.permitRequest != nil
        {
            return true
        }
        let isWaitedFor = registry.withLock { registry in
            registry.waitedFor[ObjectIdentifier(operation)] != nil
                || operation.queueIdentifier.map { registry.waitedForQueues[$0] != nil } == true
        }
        if isWaitedFor { return true }
        return operation.retainedQueue()?
            .snapshot { $0.slots.isLimited || $0.ordersStarts } ?? false
    }

    /// Returns whether any wait happens inside an operation of the queue.
    static func isWaitedInside(_ queue: OperationQueue) -> Bool {
        registry.withLock { $0.byQueue[Unmanaged.passUnretained(queue).toOpaque()] != nil }
    }

    /// Returns the operations of a queue that contain a wait.
    static func operations(in queue: OperationQueue) -> [Operation] {
        registry.withLock { registry in
            registry.byQueue[Unmanaged.passUnretained(queue).toOpaque()].map { Array($0.values) }
                ?? []
        }
    }

    /// All operations that contain a wait.
    static var allOperations: [Operation] {
        registry.withLock { $0.entries.values.map(\.operation) }
    }

    // MARK: The registry

    private static let registry = Locked(Registry())

    /// The waits that are going on.
    ///
    /// The registry retains operations and queues only while they wait or are waited for. The
    /// registry never holds the last reference to one of them, so none is released under the lock.
    private struct Registry {
        struct Entry {
            let operation: Operation
            var waits: [Int: Wait]
        }

        struct Wait {
            var target: Target
            let isRepeated: Bool
        }

        var entries: [ObjectIdentifier: Entry] = [:]
        /// The number of waits for each operation, and the number of waits for all or some of the
        /// operations of each queue.
        private(set) var waitedFor: [ObjectIdentifier: Int] = [:]
        private(set) var waitedForQueues: [UnsafeMutableRawPointer: Int] = [:]
        var byQueue: [UnsafeMutableRawPointer: [ObjectIdentifier: Operation]] = [:]
        private var lastNumber = 0

        mutating func add(_ wait: Wait, inside: [Operation]) -> Int {
            lastNumber += 1
            count(wait.target, 1)
            for operation in inside {
                let id = ObjectIdentifier(operation)
                entries[id, default: Entry(operation: operation, waits: [:])]
                    .waits[lastNumber] = wait
                if let queue = operation.queueIdentifier {
                    byQueue[queue, default: [:]][id] = operation
                }
            }
            return lastNumber
        }

        private mutating func count(_ target: Target, _ difference: Int) {
            switch target {
            case .operation(let operation): count(operation, difference)
            case .operations(let operations):
                for operation in operations { count(operation, difference) }
            case .queue(let queue, _), .capacity(let queue, _):
                let id = Unmanaged.passUnretained(queue).toOpaque()
                let sum = waitedForQueues[id, default: 0] + difference
                waitedForQueues[id] = sum == 0 ? nil : sum
            }
        }

        private mutating func count(_ operation: Operation, _ difference: Int) {
            let id = ObjectIdentifier(operation)
            let sum = waitedFor[id, default: 0] + difference
            waitedFor[id] = sum == 0 ? nil : sum
        }

        /// Replaces the target of a wait by a target that differs only in its end.
        mutating func replace(_ number: Int, with target: Target, inside: [Operation]) {
            for operation in inside {
                entries[ObjectIdentifier(operation)]?.waits[number]?.target = target
            }
        }

        mutating func remove(_ number: Int, _ target: Target, inside: [Operation]) {
            count(target, -1)
            for operation in inside {
                let id = ObjectIdentifier(operation)
                entries[id]?.waits[number] = nil
                guard entries[id]?.waits.isEmpty == true else { continue }
                entries[id] = nil
                guard let queue = operation.queueIdentifier else { continue }
                byQueue[queue]?[id] = nil
                if byQueue[queue]?.isEmpty == true { byQueue[queue] = nil }
            }
        }
    }
}

extension Operation {
    /// The identity of the operation's queue, only for comparison.
    fileprivate var queueIdentifier: UnsafeMutableRawPointer? {
        queueReference.load(ordering: .acquiring)?.toOpaque()
    }
}

extension BlockedWait.Target {
    /// What messages say that the wait is for.
    var labels: [String] {
        switch self {
        case .operation(let operation): [operation.label]
        case .operations(let operations):
            operations.filter { $0.status.phase != .finished }.map(\.label)
        case .queue(let queue, _): ["all operations of \(queue.label)"]
        case .capacity(let queue, let limit): ["fewer than \(limit) operations in \(queue.label)"]
        }
    }
}
