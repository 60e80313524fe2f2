/// Operations, and what keeps them from starting or ending, as far as a search has followed it.
struct BlockerGraph {
    struct Node {
        let operation: Operation
        /// Whether the operation cannot go on in any case. What keeps it is not followed.
        let isEndless: Bool
        fileprivate(set) var blockers: [Placed] = []
        /// The blockers of other nodes that contain this node's operation.
        fileprivate(set) var uses: [Use] = []
    }

    /// A blocker and those of its operations that fit into the search.
    struct Placed {
        let blocker: Blocker
        let members: [(place: Int, weight: Int)]
        var threshold: Int { blocker.threshold }

        func isStuck(_ stuck: [Bool]) -> Bool { sum(of: stuck) >= threshold }

        /// Returns the total weight of the operations that are stuck.
        func sum(of stuck: [Bool]) -> Int {
            members.reduce(0) { $0 + (stuck[$1.place] ? $1.weight : 0) }
        }
    }

    struct Use {
        let node: Int
        let blocker: Int
        let weight: Int
    }

    private let limit: Int
    private let endless: [Operation]
    private(set) var nodes: [Node] = []
    private var places: [ObjectIdentifier: Int] = [:]
    /// Whether all operations have fit in so far.
    private(set) var isComplete = true

    /// - Parameters:
    ///   - limit: The most operations. The others count as not stuck.
    ///   - endless: The operations that cannot go on in any case.
    init(limit: Int, endless: [Operation] = []) {
        (self.limit, self.endless) = (limit, endless)
    }

    // MARK: Exploring

    @discardableResult
    mutating func place(of operation: Operation) -> Int? {
        if let place = places[ObjectIdentifier(operation)] { return place }
        guard nodes.count < limit else {
            isComplete = false
            return nil
        }
        let isEndless = endless.contains { $0 === operation }
        nodes.append(Node(operation: operation, isEndless: isEndless))
        places[ObjectIdentifier(operation)] = nodes.count - 1
        return nodes.count - 1
    }

    /// Follows the blockers of all operations, and of those that this adds.
    mutating func explore(_ blockersOf: (Operation) -> [Blocker]) {
        var next = 0
        while next < nodes.count {
            defer { next += 1 }
            guard !nodes[next].isEndless else { continue }
            let blockers = blockersOf(nodes[next].operation).map { placed($0) }
            nodes[next].blockers = blockers
            for (index, blocker) in blockers.enumerated() {
                for (place, weight) in blocker.members {
                    nodes[place].uses.append(Use(node: next, blocker: index, weight: weight))
                }
            }
        }
    }

    /// The operations that do not fit count as not stuck.
    mutating func placed(_ blocker: Blocker) -> Placed {
        let members = zip(blocker.operations, blocker.weights).compactMap { operation, weight in
            place(of: operation).map { (place: $0, weight: weight) }
        }
        return Placed(blocker: blocker, members: members)
    }

    // MARK: Concluding

    /// Removes the operations that are not stuck even if dependencies count like waits, until no
    /// further operation follows from a removal.
    func strikeOut(_ possible: inout [Bool]) {
        var sums = nodes.map { node in
            node.blockers.map { $0.sum(of: possible) }
        }
        var left = nodes.indices.map { place in
            zip(nodes[place].blockers, sums[place]).count { $0.threshold <= $1 }
        }
        var struck = nodes.indices.filter {
            possible[$0] && !nodes[$0].isEndless && left[$0] == 0
        }
        for place in struck { possible[place] = false }
        while let place = struck.popLast() {
            for use in nodes[place].uses {
                let threshold = nodes[use.node].blockers[use.blocker].threshold
                let before = sums[use.node][use.blocker]
                sums[use.node][use.blocker] = before - use.weight
                guard before >= threshold, before - use.weight < threshold else { continue }
                left[use.node] -= 1
                guard left[use.node] == 0, possible[use.node], !nodes[use.node].isEndless
                else { continue }
                possible[use.node] = false
                struck.append(use.node)
            }
        }
    }
}
