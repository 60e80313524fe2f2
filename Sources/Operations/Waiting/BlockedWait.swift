import Synchronization

/// A wait that a thread or a task makes inside of operations, which cannot go on before it ends.
///
/// Known to all while it lasts, so that whoever closes a circle of waits finds it. Waits outside of
/// operations are not recorded: nothing waits for them.
struct BlockedWait: Sendable {
    enum Target: Sendable {
        case operation(Operation)
        /// - Parameter end: the place behind those that were in the queue when the wait began. While one of
        ///   them is unfinished the wait goes on; of later ones nobody can tell.
        case queue(OperationQueue, end: Int)
        /// All of these.
        case operations([Operation])
        /// Fewer unfinished operations in the queue than so many.
        case room(OperationQueue, below: Int)

        static func queue(_ queue: OperationQueue) -> Target {
            .queue(queue, end: queue.snapshot { $0.end })
        }

        var isOver: Bool {
            switch self {
            case .operation(let operation): operation.status.phase == .finished
            case .queue(let queue, _): queue.snapshot { $0.isEmpty }
            case .operations(let operations): operations.allSatisfy { $0.status.phase == .finished }
            case .room(let queue, let limit): queue.snapshot { $0.operationCount < limit }
            }
        }
    }

    let target: Target
    /// What waits, the outermost first; at work, so it does not go away.
    let inside: [Operation]
    private let number: Int

    /// Records a wait; nil if the caller is inside of nothing that the wait keeps from finishing.
    ///
    /// - Parameters:
    ///   - operations: what the caller is inside of.
    ///   - isRepeated: whether it is checked from time to time for as long as it lasts.
    static func begin(
        _ target: @autoclosure () -> Target, inside operations: [Operation],
        isRepeated: Bool = false
    ) -> BlockedWait? {
        // A subclass with its own `start()` may be finished by somebody else while that blocks.
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

    /// The same wait, known to be still going on for what has been added to its queue up to now.
    ///
    /// - Parameter gate: what the thread waits behind.
    func extended(_ gate: Latch) -> BlockedWait {
        guard case .queue(let queue, _) = target,
            let end = queue.snapshot({ $0.isAwaited(by: gate) ? $0.end : nil })
        else { return self }
        let target = Target.queue(queue, end: end)
        Self.registry.withLock { $0.replace(number, with: target, inside: inside) }
        return BlockedWait(target: target, inside: inside, number: number)
    }

    // MARK: For those who search

    /// What threads and tasks inside of an operation wait for.
    static func targets(in operation: Operation) -> [Target] {
        registry.withLock { registry in
            registry.entries[ObjectIdentifier(operation)].map { $0.waits.values.map(\.target) }
                ?? []
        }
    }

    /// Whether others who wait would find a circle that this wait is in, so that it need not be looked for here.
    ///
    /// That is so if the wait is for an operation inside of which only threads wait that look again from time to
    /// time: the circle goes through one of these. A circle of nothing but waits was found when the last of them
    /// began, so somebody in each later one looks for it.
    var isCheckedByOthers: Bool {
        guard case .operation(let operation) = target, operation.status.phase == .executing
        else { return false }
        return Self.registry.withLock { registry in
            guard let entry = registry.entries[ObjectIdentifier(operation)] else { return false }
            return entry.waits.values.allSatisfy(\.isRepeated)
        }
    }

    /// Whether anything may be held back by an operation that the wait is inside of. If not, nothing that the wait
    /// is for leads back to it, however far that goes.
    var mayHoldBackOthers: Bool { inside.contains { Self.mayHoldBackOthers($0) } }

    private static func mayHoldBackOthers(_ operation: Operation) -> Bool {
        if operation.status.has(.hasSuccessors) || operation.attemptController?.claim != nil {
            return true
        }
        let isWaitedFor = registry.withLock { registry in
            registry.waitedFor[ObjectIdentifier(operation)] != nil
                || operation.queueIdentifier.map { registry.waitedForQueues[$0] != nil } == true
        }
        if isWaitedFor { return true }
        return operation.retainedQueue()?.snapshot {
            $0.width >= 0 || $0.isStrict || !$0.barriers.isEmpty
        } ?? false
    }

    /// Whether somebody waits inside of an operation of a queue.
    static func isWaitedInside(_ queue: OperationQueue) -> Bool {
        registry.withLock { $0.byQueue[Unmanaged.passUnretained(queue).toOpaque()] != nil }
    }

    /// The operations of a queue inside of which somebody waits.
    static func operations(in queue: OperationQueue) -> [Operation] {
        registry.withLock { registry in
            registry.byQueue[Unmanaged.passUnretained(queue).toOpaque()].map { Array($0.values) }
                ?? []
        }
    }

    /// All operations inside of which somebody waits.
    static var allOperations: [Operation] {
        registry.withLock { $0.entries.values.map(\.operation) }
    }

    // MARK: The registry

    private static let registry = Locked(Registry())

    /// Keeps operations and queues only while they are waiting or waited for; the last reference is never
    /// one of these, so none is let go of under the lock.
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
        /// How many waits there are for an operation, and for all or some of a queue's.
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
            case .queue(let queue, _), .room(let queue, _):
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

        /// The new target is as the old one, but for where it ends.
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
    /// Which queue it was put into, only to be compared.
    fileprivate var queueIdentifier: UnsafeMutableRawPointer? {
        queueReference.load(ordering: .acquiring)?.toOpaque()
    }
}
