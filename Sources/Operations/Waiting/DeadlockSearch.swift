/// Finds out whether a wait can never end because it waits for itself.
///
/// An operation is **stuck** if one of its obstacles is, and an obstacle if all operations that it
/// consists of are: a dependency, a wait inside of it, the holders of all slots of its queue. Of some
/// obstacles it is enough that so many are: of the holders of units so many that the rest is not enough,
/// of the operations that fill a queue so many that there is no room. So are those inside of which the
/// wait happens, as long as it lasts. Operations that wait for each other in a circle are stuck, unless
/// the circle consists of dependencies only: that one was reported, and can be broken.
///
/// Only what nobody but an outsider can change counts: a queue that is suspended or has no width may be
/// changed at any moment, an `isReady` may change its mind, a subclass that is started by hand makes its own
/// rules. What is read one after the other is true together all the same: nothing that is found to be stuck
/// can have gone on, as long as what it is stuck behind had not.
struct DeadlockSearch {
    /// What an operation cannot do without.
    struct Obstacle {
        enum Kind {
            case dependency
            case wait
            case waitForQueue(OperationQueue)
            case waitForRoom(OperationQueue)
            case slots(OperationQueue)
            /// Others hold too many of them.
            case units(ConcurrencyBudget)
            /// Another one is before it in the line for units.
            case line(ConcurrencyBudget)
            case barrier(OperationQueue)
            /// A strict order wants it to start before.
            case order(OperationQueue)
        }
        let kind: Kind
        let operations: [Operation]
        /// How much each of them counts.
        fileprivate let weights: [Int]
        /// Stuck if those of them that are stuck come to so much together.
        fileprivate let threshold: Int
        fileprivate var places: [Int] = []

        /// Whether it does not make a circle that counts, together with others of this sort.
        fileprivate var isEdge: Bool {
            switch kind {
            case .dependency, .order, .line: true
            case .wait, .waitForQueue, .waitForRoom, .slots, .units, .barrier: false
            }
        }

        /// Stuck if all of these are.
        init(_ kind: Kind, _ operations: [Operation]) {
            self.init(kind, operations, atLeast: operations.count)
        }

        /// - Parameter weights: of each operation; 1 unless given.
        init(
            _ kind: Kind, _ operations: [Operation], weights: [Int]? = nil, atLeast threshold: Int
        ) {
            self.kind = kind
            self.operations = operations
            self.weights = weights ?? operations.map { _ in 1 }
            self.threshold = threshold
        }

        fileprivate func isStuck(_ stuck: [Bool]) -> Bool { sum(of: stuck) >= threshold }

        /// How much those of its operations count that are stuck.
        fileprivate func sum(of stuck: [Bool]) -> Int {
            var sum = 0
            for (place, weight) in zip(places, weights) where stuck[place] { sum += weight }
            return sum
        }
    }

    /// From an operation through an obstacle to the next one.
    struct Step {
        let operation: Operation
        let obstacle: Obstacle
        let next: Operation
    }

    private struct Node {
        let operation: Operation
        let isInside: Bool
        var obstacles: [Obstacle] = []
        /// The obstacles of other nodes that it is one of the operations of.
        var uses: [Use] = []
    }

    private struct Use {
        let node: Int
        let obstacle: Int
        let weight: Int
    }

    /// More are not looked at; nothing is claimed about waits that reach further.
    private static let limit = 4_000

    private let inside: [Operation]
    private var nodes: [Node] = []
    private var places: [ObjectIdentifier: Int] = [:]

    /// The way from what the wait is for back to one of the operations inside of which it happens; nil if it
    /// may end.
    static func circle(of wait: BlockedWait) -> (first: Operation, steps: [Step])? {
        var search = DeadlockSearch(inside: wait.inside)
        let obstacles = search.placed(obstacles(of: wait.target))
        search.explore()
        let stuck = search.stuck()
        for obstacle in obstacles where obstacle.isStuck(stuck) {
            for (target, place) in zip(obstacle.operations, obstacle.places) where stuck[place] {
                if let steps = search.way(from: place, stuck) { return (target, steps) }
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

    /// Those of which all operations can be looked at.
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
        case .room(let queue, let below):
            obstacles(in: queue, ofRoomBelow: below)
        }
    }

    private static func obstacles(of operation: Operation) -> [Obstacle] {
        let word = operation.status
        switch word.phase {
        case .finished, .starting: return []
        case .executing:
            return BlockedWait.targets(in: operation).flatMap { obstacles(of: $0) }
        case .created where !word.has(.fastPath): return []
        case .created, .waiting, .checkingReadiness, .queued:
            // At its deadline it leaves, whatever it waits for.
            if word.isStopped || operation.attemptController?.deadline != nil { return [] }
            if word.unfinishedDependencies > 0, !word.has(.insists) {
                return operation.listedDependencies
                    .filter { $0.status.phase != .finished }
                    .map { Obstacle(.dependency, [$0]) }
            }
            if let claim = operation.attemptController?.claim, let needs = claim.needs {
                return needs.flatMap { obstacles(of: $0) }
            }
            guard word.phase == .queued, let queue = operation.retainedQueue() else { return [] }
            return obstacles(in: queue, of: operation)
        }
    }

    private static func obstacles(in queue: OperationQueue, ofRoomBelow count: Int) -> [Obstacle] {
        let operations = queue.snapshot { $0.operations() }
        // With fewer there is room, or will be when a place is given back.
        guard operations.count >= count else { return [] }
        return [Obstacle(.waitForRoom(queue), operations, atLeast: count)]
    }

    /// What keeps an operation from its units: those that hold them and wait, and those before it in line.
    private static func obstacles(of need: PermitRequest.Need) -> [Obstacle] {
        let holders = BlockedWait.allOperations.compactMap { operation in
            operation.attemptController?.claim.map { (operation, $0.held(of: need.budget)) }
        }.filter { $0.1 > 0 }
        return need.before.map { [Obstacle(.line(need.budget), [$0])] } ?? []
            + [
                Obstacle(
                    .units(need.budget), holders.map(\.0), weights: holders.map(\.1),
                    atLeast: need.mostHeldByOthers + 1)
            ]
    }

    /// What in its queue keeps a ready operation from starting.
    private static func obstacles(in queue: OperationQueue, of operation: Operation) -> [Obstacle] {
        // As a rule nothing does, and then those who wait in that queue, perhaps many, need not be listed.
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

    /// Which are stuck.
    ///
    /// Waits and slots count as stuck until the contrary is known, dependencies only when it is known: the
    /// one lets circles stand, the other does not.
    ///
    /// - Complexity: O(nodes and obstacles), once more for each circle of dependencies that something else leads
    ///   out of.
    private func stuck() -> [Bool] {
        var possible = nodes.map { _ in true }
        while true {
            strikeOut(&possible)
            let certain = stuck(possible)
            if certain == possible { return certain }
            possible = certain
        }
    }

    /// Strikes out what is not stuck even if dependencies count as waits do, until nothing follows from it.
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

    /// Which are stuck, if waits for these are.
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

    /// The shortest way from a stuck operation to one of those inside of which the wait happens.
    private func way(from start: Int, _ stuck: [Bool]) -> [Step]? {
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
    /// Whether it is at work and counts towards its queue's width, by itself or with a batch of which it is
    /// the one at work.
    fileprivate var usesSlot: Bool { phase == .executing && (has(.holdsSlot) || has(.fastPath)) }
}

extension QueueState {
    /// Whether anything in the queue may keep a ready operation from starting.
    fileprivate func mayHoldBack(_ operation: Operation) -> Bool {
        guard !isSuspended, width != 0 else { return false }
        return isStrict || !barriers.isEmpty || (width > 0 && running >= width)
    }
}
