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
    /// - Parameter operations: what the caller is inside of.
    static func begin(
        _ target: @autoclosure () -> Target, inside operations: [Operation]
    ) -> BlockedWait? {
        // A subclass with its own `start()` may be finished by somebody else while that blocks.
        let inside = operations.filter { $0.status.phase == .executing }
        guard !inside.isEmpty else { return nil }
        let target = target()
        guard !target.isOver else { return nil }
        let number = registry.withLock { $0.add(target, inside: inside) }
        return BlockedWait(target: target, inside: inside, number: number)
    }

    func end() {
        Self.registry.withLock { $0.remove(number, inside: inside) }
    }

    /// The same wait, known to be still going on for what has been added to its queue up to now.
    ///
    /// - Parameter gate: what the thread waits behind.
    func extended(_ gate: Gate) -> BlockedWait {
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
            registry.entries[ObjectIdentifier(operation)].map { Array($0.targets.values) } ?? []
        }
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

    private static let registry = Protected(Registry())

    /// Keeps operations and queues only while they are waiting or waited for; the last reference is never
    /// one of these, so none is let go of under the lock.
    private struct Registry {
        struct Entry {
            let operation: Operation
            var targets: [Int: Target]
        }

        var entries: [ObjectIdentifier: Entry] = [:]
        var byQueue: [UnsafeMutableRawPointer: [ObjectIdentifier: Operation]] = [:]
        private var lastNumber = 0

        mutating func add(_ target: Target, inside: [Operation]) -> Int {
            lastNumber += 1
            for operation in inside {
                let id = ObjectIdentifier(operation)
                entries[id, default: Entry(operation: operation, targets: [:])]
                    .targets[lastNumber] = target
                if let queue = operation.queueIdentifier {
                    byQueue[queue, default: [:]][id] = operation
                }
            }
            return lastNumber
        }

        mutating func replace(_ number: Int, with target: Target, inside: [Operation]) {
            for operation in inside {
                entries[ObjectIdentifier(operation)]?.targets[number] = target
            }
        }

        mutating func remove(_ number: Int, inside: [Operation]) {
            for operation in inside {
                let id = ObjectIdentifier(operation)
                entries[id]?.targets[number] = nil
                guard entries[id]?.targets.isEmpty == true else { continue }
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
