import OperationsRuntime

/// Determines whether a wait can never end because it waits, through other operations, for itself.
///
/// An operation is **stuck** if one of its obstacles is stuck. An obstacle consists of operations:
/// a dependency, the target of a wait inside the operation, the holders of all slots of its queue.
/// As a rule an obstacle is stuck if all its operations are stuck. For some obstacles a certain
/// number is enough: so many holders of permits that the remaining permits do not suffice, or so
/// many of the operations that fill a queue that the queue has no capacity. The operations that
/// contain the wait are stuck for as long as the wait lasts.
///
/// Operations that wait for each other in a circle are stuck, unless the circle consists only of
/// dependencies, strict orders and places in permit queues. Such a circle can be broken, and a
/// circle of dependencies was reported when it was made.
///
/// An obstacle counts only if nothing but an outside intervention can remove it. Circumstances that
/// may change at any time do not count: a queue that is suspended or of width 0, an `isReady` that
/// may change its answer, a subclass that is started by hand and follows its own rules.
///
/// The search reads one object after the other, without a common lock. Its result is sound all the
/// same: an operation found to be stuck cannot have continued as long as the operations that it is
/// stuck behind had not.
struct DeadlockSearch {
    /// A condition without which an operation cannot continue.
    struct Obstacle {
        enum Kind {
            case dependency
            case wait
            case waitForQueue(OperationQueue)
            case waitForCapacity(OperationQueue)
            case slots(OperationQueue)
            /// Other operations hold too many of the permits.
            case permits(ConcurrencyBudget)
            /// Another operation precedes this one in the queue for permits.
            case permitQueue(ConcurrencyBudget)
            case barrier(OperationQueue)
            /// A strict order requires another operation to start first.
            case order(OperationQueue)
        }
        let kind: Kind
        let operations: [Operation]
        /// The weight of each operation.
        fileprivate let weights: [Int]
        /// The total weight of stuck operations at which the obstacle is stuck.
        fileprivate let threshold: Int
        fileprivate var places: [Int] = []

        /// Whether the obstacle is an edge: a circle that consists of edges only does not count.
        fileprivate var isEdge: Bool {
            switch kind {
            case .dependency, .order, .permitQueue: true
            case .wait, .waitForQueue, .waitForCapacity, .slots, .permits, .barrier: false
            }
        }

        /// Creates an obstacle that is stuck if all its operations are stuck.
        init(_ kind: Kind, _ operations: [Operation]) {
            self.init(kind, operations, atLeast: operations.count)
        }

        /// - Parameter weights: The weight of each operation; 1 by default.
        init(
            _ kind: Kind, _ operations: [Operation], weights: [Int]? = nil, atLeast threshold: Int
        ) {
            self.kind = kind
            self.operations = operations
            self.weights = weights ?? operations.map { _ in 1 }
            self.threshold = threshold
        }

        fileprivate func isStuck(_ stuck: [Bool]) -> Bool { sum(of: stuck) >= threshold }

        /// Returns the total weight of the obstacle's operations that are stuck.
        fileprivate func sum(of stuck: [Bool]) -> Int {
            var sum = 0
            for (place, weight) in zip(places, weights) where stuck[place] { sum += weight }
            return sum
        }
    }

    /// A step from an operation through an obstacle to the next operation.
    struct Step {
        let operation: Operation
        let obstacle: Obstacle
        let next: Operation
    }

    private struct Node {
        let operation: Operation
        let isInside: Bool
        var obstacles: [Obstacle] = []
        /// The obstacles of other nodes that contain this node's operation.
        var uses: [Use] = []
    }

    private struct Use {
        let node: Int
        let obstacle: Int
        let weight: Int
    }

    /// The most operations that a search visits. The search makes no statement about waits that
    /// reach further.
    private static let limit = 4_000

    private let inside: [Operation]
    private var nodes: [Node] = []
    private var places: [ObjectIdentifier: Int] = [:]

    /// Returns the path from the target of the wait back to one of the operations that contain the
    /// wait; nil if the wait may end.
    static func circle(of wait: BlockedWait) -> (first: Operation, steps: [Step])? {
        var search = DeadlockSearch(inside: wait.inside)
        let obstacles = search.placed(obstacles(of: wait.target))
        search.explore()
        let stuck = search.stuck()
        for obstacle in obstacles where obstacle.isStuck(stuck) {
            for (target, place) in zip(obstacle.operations, obstacle.places) where stuck[place] {
                if let steps = search.path(from: place, stuck) { return (target, steps) }
            }
        }
        return nil
    }

    private init(inside: [Operation]) {
        self.inside = inside
    }

    // MARK: Exploring

    private mutating func place(of operation: Operation) -> Int? {
        if let place = places[ObjectIdentifier(operation)] { return place }
        guard nodes.count < Self.limit else { return nil }
        let isInside = inside.contains { $0 === operation }
        nodes.append(Node(operation: operation, isInside: isInside))
        places[ObjectIdentifier(operation)] = nodes.count - 1
        return nodes.count - 1
    }

    private mutating func explore() {
        var next = 0
        while next < nodes.count {
            defer { next += 1 }
            guard !nodes[next].isInside else { continue }
            let obstacles = placed(Self.obstacles(of: nodes[next].operation))
            nodes[next].obstacles = obstacles
            for (index, obstacle) in obstacles.enumerated() {
                for (place, weight) in zip(obstacle.places, obstacle.weights) {
                    nodes[place].uses.append(Use(node: next, obstacle: index, weight: weight))
                }
            }
        }
    }

    /// Returns the obstacles whose operations all fit into the search.
    private mutating func placed(_ obstacles: [Obstacle]) -> [Obstacle] {
        obstacles.compactMap { found in
            var obstacle = found
            for operation in found.operations {
                guard let place = place(of: operation) else { return nil }
                obstacle.places.append(place)
            }
            return obstacle
        }
    }

    private static func obstacles(of target: BlockedWait.Target) -> [Obstacle] {
        switch target {
        case .operation(let operation):
            operation.status.phase == .finished ? [] : [Obstacle(.wait, [operation])]
        case .queue(let queue, let end):
            queue.snapshot { state in
                state.operations(includingBarriers: true).filter { $0.place < end }
            }.prefix(limit).map { Obstacle(.waitForQueue(queue), [$0]) }
        case .operations(let operations):
            operations.filter { $0.status.phase != .finished }.prefix(limit)
                .map { Obstacle(.wait, [$0]) }
        case .capacity(let queue, let below):
            obstacles(in: queue, ofCapacityBelow: below)
        }
    }

    private static func obstacles(of operation: Operation) -> [Obstacle] {
        let state = operation.status
        switch state.phase {
        case .finished, .starting: return []
        case .executing:
            return BlockedWait.targets(in: operation).flatMap { obstacles(of: $0) }
        case .created where !state.has(.fastPath): return []
        case .created, .waiting, .checkingReadiness, .queued:
            // At its deadline the operation ends, whatever it waits for.
            if state.isStopped || operation.attemptController?.deadline != nil { return [] }
            if state.unfinishedDependencies > 0, !state.has(.forced) {
                return operation.listedDependencies
                    .filter { $0.status.phase != .finished }
                    .map { Obstacle(.dependency, [$0]) }
            }
            if let permitRequest = operation.attemptController?.permitRequest,
                let needs = permitRequest.needs
            {
                return needs.flatMap { obstacles(of: $0) }
            }
            guard state.phase == .queued, let queue = operation.retainedQueue() else { return [] }
            return obstacles(in: queue, of: operation)
        }
    }

    private static func obstacles(in queue: OperationQueue, ofCapacityBelow count: Int)
        -> [Obstacle]
    {
        let operations = queue.allOperations()
        // With fewer operations the queue has capacity, or will have it when a reservation is
        // released.
        guard operations.count >= count else { return [] }
        return [Obstacle(.waitForCapacity(queue), operations, atLeast: count)]
    }

    /// Returns the obstacles between an operation and its permits: the operations that hold permits
    /// and wait, and the operation that precedes it in the permit queue.
    private static func obstacles(of need: PermitRequest.Need) -> [Obstacle] {
        let requests = BlockedWait.allOperations.compactMap { operation in
            operation.attemptController?.permitRequest.map { (operation, $0) }
        }
        let permits = PermitRequest.permits(of: need.budget, heldBy: requests.map(\.1))
        let holders = zip(requests.map(\.0), permits).filter { $1 > 0 }
        return need.before.map { [Obstacle(.permitQueue(need.budget), [$0])] } ?? []
            + [
                Obstacle(
                    .permits(need.budget), holders.map(\.0), weights: holders.map(\.1),
                    atLeast: need.mostHeldByOthers + 1)
            ]
    }

    /// Returns the obstacles in its queue that keep a ready operation from starting.
    private static func obstacles(in queue: OperationQueue, of operation: Operation) -> [Obstacle] {
        // Usually there is no obstacle, and then the waits in that queue, which may be many, need
        // not be listed.
        guard queue.snapshot({ $0.mayHoldBack(operation) }) else { return [] }
        let waiting = BlockedWait.operations(in: queue)
        return queue.snapshot { state in
            guard !state.isSuspended, state.width != 0, operation.status.phase == .queued else {
                return []
            }
            var found: [Obstacle] = []
            if let before = state.firstStrictly(before: operation.place) {
                found.append(Obstacle(.order(queue), [before]))
            }
            if waiting.isEmpty { return found }
            let barrier = min(state.barrierPlace, operation.place)
            if barrier < operation.place || operation.status.has(.barrier) {
                for before in waiting
                where before.place < barrier && before.status.phase == .executing {
                    found.append(Obstacle(.barrier(queue), [before]))
                }
            }
            let holders = waiting.filter { $0.status.usesSlot }
            if state.width > 0, state.running >= state.width, holders.count == state.running {
                found.append(Obstacle(.slots(queue), holders))
            }
            return found
        }
    }

    // MARK: Concluding

    /// Returns which operations are stuck.
    ///
    /// Waits and slots count as stuck until the contrary is known; dependencies count as stuck only
    /// when that is known. So circles of waits and slots stand, and circles of dependencies do not.
    ///
    /// - Complexity: O(nodes and obstacles), once more for each circle of dependencies out of which
    ///   another obstacle leads.
    private func stuck() -> [Bool] {
        var possible = nodes.map { _ in true }
        while true {
            strikeOut(&possible)
            let certain = stuck(possible)
            if certain == possible { return certain }
            possible = certain
        }
    }

    /// Removes the operations that are not stuck even if dependencies count like waits, until no
    /// further operation follows from a removal.
    private func strikeOut(_ possible: inout [Bool]) {
        var sums = nodes.map { node in
            node.obstacles.map { $0.sum(of: possible) }
        }
        var left = nodes.indices.map { place in
            zip(nodes[place].obstacles, sums[place]).count { $0.threshold <= $1 }
        }
        var struck = nodes.indices.filter {
            possible[$0] && !nodes[$0].isInside && left[$0] == 0
        }
        for place in struck { possible[place] = false }
        while let place = struck.popLast() {
            for use in nodes[place].uses {
                let threshold = nodes[use.node].obstacles[use.obstacle].threshold
                let before = sums[use.node][use.obstacle]
                sums[use.node][use.obstacle] = before - use.weight
                guard before >= threshold, before - use.weight < threshold else { continue }
                left[use.node] -= 1
                guard left[use.node] == 0, possible[use.node], !nodes[use.node].isInside
                else { continue }
                possible[use.node] = false
                struck.append(use.node)
            }
        }
    }

    /// Returns which operations are stuck, if waits for the operations in `possible` are stuck.
    private func stuck(_ possible: [Bool]) -> [Bool] {
        var certain = nodes.map { node in
            node.isInside
                || node.obstacles.contains {
                    $0.isEdge ? $0.threshold <= 0 : $0.isStuck(possible)
                }
        }
        var sums = nodes.map { $0.obstacles.map { _ in 0 } }
        var found = nodes.indices.filter { certain[$0] }
        while let place = found.popLast() {
            for use in nodes[place].uses where !certain[use.node] {
                let obstacle = nodes[use.node].obstacles[use.obstacle]
                guard obstacle.isEdge else { continue }
                sums[use.node][use.obstacle] += use.weight
                guard sums[use.node][use.obstacle] >= obstacle.threshold else { continue }
                certain[use.node] = true
                found.append(use.node)
            }
        }
        return certain
    }

    /// Returns the shortest path from a stuck operation to one of the operations that contain the
    /// wait.
    private func path(from start: Int, _ stuck: [Bool]) -> [Step]? {
        var cameBy: [Int: (place: Int, obstacle: Obstacle)] = [:]
        var reached = [start]
        var next = 0
        while next < reached.count {
            let place = reached[next]
            next += 1
            if nodes[place].isInside {
                var steps: [Step] = []
                var last = place
                while last != start, let step = cameBy[last] {
                    steps.append(
                        Step(
                            operation: nodes[step.place].operation, obstacle: step.obstacle,
                            next: nodes[last].operation))
                    last = step.place
                }
                return steps.reversed()
            }
            for obstacle in nodes[place].obstacles where obstacle.isStuck(stuck) {
                for other in obstacle.places
                where stuck[other] && other != start && cameBy[other] == nil {
                    cameBy[other] = (place, obstacle)
                    reached.append(other)
                }
            }
        }
        return nil
    }
}

extension LifecycleState {
    /// Whether the operation is executing and counts towards its queue's width, either by itself or
    /// as the executing operation of its batch.
    fileprivate var usesSlot: Bool { phase == .executing && (has(.holdsSlot) || has(.fastPath)) }
}

extension QueueState {
    /// Returns whether anything in the queue may keep a ready operation from starting.
    fileprivate func mayHoldBack(_ operation: Operation) -> Bool {
        guard !isSuspended, width != 0 else { return false }
        return order.isStrict || !barriers.isEmpty || (width > 0 && running >= width)
    }
}
