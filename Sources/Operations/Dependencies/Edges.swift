import OperationsRuntime

/// One dependency: an operation that waits for another one.
///
/// An edge lies in the dependent's memory. `dependency` is guarded by the dependent's lock, `next`
/// and `previous` by the dependency's lock.
struct Edge {
    /// The dependent's address and, in its last bits, which are 0 in an address, the condition.
    fileprivate var bits: UInt
    /// The address of the dependency, retained; nil once the edge has been removed.
    var dependencyAddress: UnsafeMutableRawPointer?
    var next: UnsafeMutablePointer<Edge>?
    /// The pointer to this edge in the dependency's list; nil while the edge is in no list.
    var previous: UnsafeMutablePointer<UnsafeMutablePointer<Edge>?>?

    init(dependent: UnsafeMutableRawPointer) { bits = UInt(bitPattern: dependent) }

    fileprivate static var conditionMask: UInt { 0b11 }

    var isLinked: Bool {
        @inline(__always) get { previous != nil }
    }
}

// These are not properties of `Edge`: reading one would read the whole edge, including the fields
// that another lock guards.
extension UnsafeMutablePointer<Edge> {
    var dependentAddress: UnsafeMutableRawPointer {
        @inline(__always) get {
            let address = UnsafeMutableRawPointer(bitPattern: pointee.bits & ~Edge.conditionMask)
            return address.unsafelyUnwrapped
        }
    }

    var condition: DependencyCondition {
        @inline(__always) get {
            DependencyCondition(rawValue: pointee.bits & Edge.conditionMask) ?? .always
        }
        nonmutating set { pointee.bits = pointee.bits & ~Edge.conditionMask | newValue.rawValue }
    }

    /// Takes the dependency off the edge, and its condition.
    fileprivate func remove() {
        pointee.dependencyAddress = nil
        pointee.bits &= ~Edge.conditionMask
    }
}

/// The edges of one operation, in both directions, allocated with the first edge of either
/// direction.
///
/// Dependencies lie in blocks of growing size. The first block lies right behind this header and
/// has capacity for two edges without another allocation. Edges do not move, because they are
/// linked by address.
struct Edges {
    typealias Pointer = UnsafeMutablePointer<Edges>
    typealias EdgePointer = UnsafeMutablePointer<Edge>

    private static let inlineCapacity = 2

    /// The edges of this operation's dependents, the latest first.
    private var successors: EdgePointer?
    private var latestBlock: UnsafeMutablePointer<Block>?
    /// The first free edge, in a list linked by `next`, which has the order of the places. If the
    /// last bit is set, the address of an `EdgeOrder`, which then has the free edges.
    private var vacancy: UInt = 0

    private struct Block {
        let older: UnsafeMutablePointer<Block>?
        let capacity: Int
        var count = 0
    }

    static func allocate(for dependent: UnsafeMutableRawPointer) -> Pointer {
        let memory = Memory.allocate(
            byteCount: MemoryLayout<Edges>.stride + inlineCapacity * MemoryLayout<Edge>.stride)
        let edges = memory.bindMemory(to: Edges.self, capacity: 1)
        edges.initialize(to: Edges())
        let first = inlineEdges(edges)
        let edge = Edge(dependent: dependent)
        first.initialize(repeating: edge, count: inlineCapacity)
        setAllVacant(edges)
        return edges
    }

    /// Lists all places as free. None of them is linked, and there is no `EdgeOrder`.
    private static func setAllVacant(_ edges: Pointer) {
        var next: EdgePointer?
        var block = edges.pointee.latestBlock
        while let current = block {
            for index in (0..<current.pointee.count).reversed() {
                let edge = Self.edges(of: current) + index
                edge.pointee.next = next
                next = edge
            }
            block = current.pointee.older
        }
        for index in (0..<inlineCapacity).reversed() {
            let edge = inlineEdges(edges) + index
            edge.pointee.next = next
            next = edge
        }
        edges.pointee.vacancy = UInt(bitPattern: next)
    }

    static func deallocate(_ edges: Pointer) {
        takeOrder(of: edges)
        deallocateBlocks(of: edges)
        Memory.deallocate(edges)
    }

    private static func deallocateBlocks(of edges: Pointer) {
        var block = edges.pointee.latestBlock
        while let current = block {
            block = current.pointee.older
            Memory.deallocate(current)
        }
        edges.pointee.latestBlock = nil
    }

    // MARK: Dependencies, under the dependent's lock

    private static func inlineEdges(_ edges: Pointer) -> EdgePointer {
        (UnsafeMutableRawPointer(edges) + MemoryLayout<Edges>.stride)
            .assumingMemoryBound(to: Edge.self)
    }

    private static func edges(of block: UnsafeMutablePointer<Block>) -> EdgePointer {
        (UnsafeMutableRawPointer(block) + MemoryLayout<Block>.stride)
            .assumingMemoryBound(to: Edge.self)
    }

    /// Returns an edge to `dependency`, which the caller has retained for the edge.
    @inline(__always)
    static func add(_ dependency: UnsafeMutableRawPointer, to edges: Pointer) -> EdgePointer {
        let vacancy = edges.pointee.vacancy
        guard vacancy & orderMark == 0, let edge = EdgePointer(bitPattern: vacancy) else {
            return addFurther(dependency, to: edges)
        }
        edges.pointee.vacancy = UInt(bitPattern: edge.pointee.next)
        edge.pointee.next = nil
        edge.pointee.dependencyAddress = dependency
        return edge
    }

    /// Removes each edge to `dependency` for which `isRemoved` returns true, and returns the number
    /// of these edges. `isRemoved` also takes the edge off its list.
    ///
    /// The other edges keep their order, and edges that are added later come behind them.
    ///
    /// - Complexity: O(edges) for the first removal, and amortised O(edges to `dependency`) from
    ///   then on, until no edge is left.
    static func remove(
        _ dependency: UnsafeMutableRawPointer, from edges: Pointer,
        where isRemoved: (EdgePointer) -> Bool
    ) -> Int {
        var count = 0
        var isEmpty = true
        if let order = order(of: edges) {
            count = order.remove(dependency, where: isRemoved)
            isEmpty = order.isEmpty
        } else {
            forEach(edges) { edge in
                if edge.pointee.dependencyAddress == dependency, isRemoved(edge) {
                    edge.remove()
                    count += 1
                } else if edge.pointee.dependencyAddress != nil {
                    isEmpty = false
                }
            }
            if count > 0, !isEmpty {
                let order = EdgeOrder(of: places(edges))
                let address = UInt(bitPattern: Unmanaged.passRetained(order).toOpaque())
                edges.pointee.vacancy = address | orderMark
            }
        }
        if count > 0, isEmpty {
            takeOrder(of: edges)
            setAllVacant(edges)
        }
        return count
    }

    /// The order in which edges were added, which may differ from the order of their places, and an
    /// index by dependency; from the first removal of an edge until no edge is left.
    private final class EdgeOrder {
        /// The edges, and those removed ones whose places are not in `vacant` yet.
        private(set) var edges: [EdgePointer]
        private var removedCount = 0
        var vacant: [EdgePointer]
        /// The latest edge to each dependency.
        private var latest: [UnsafeMutableRawPointer: EdgePointer]
        /// For each edge to a dependency that was added repeatedly, the edge before it.
        private var earlier: [EdgePointer: EdgePointer] = [:]

        /// - Parameter places: all places, in the order in which their edges were added.
        init(of places: [EdgePointer]) {
            edges = places.filter { $0.pointee.dependencyAddress != nil }
            vacant = places.reversed().filter { $0.pointee.dependencyAddress == nil }
            latest = Dictionary(minimumCapacity: edges.count)
            for edge in edges { enter(edge) }
        }

        var isEmpty: Bool { edges.isEmpty }

        private func enter(_ edge: EdgePointer) {
            guard let dependency = edge.pointee.dependencyAddress else { return }
            if let previous = latest.updateValue(edge, forKey: dependency) {
                earlier[edge] = previous
            }
        }

        func append(_ edge: EdgePointer) {
            edges.append(edge)
            enter(edge)
        }

        func remove(
            _ dependency: UnsafeMutableRawPointer, where isRemoved: (EdgePointer) -> Bool
        ) -> Int {
            var count = 0
            var kept: [EdgePointer] = []
            var next = latest.removeValue(forKey: dependency)
            while let edge = next {
                next = earlier.isEmpty ? nil : earlier.removeValue(forKey: edge)
                if isRemoved(edge) {
                    edge.remove()
                    count += 1
                } else {
                    kept.append(edge)
                }
            }
            for edge in kept.reversed() { enter(edge) }
            removedCount += count
            // A removed edge that is still in the list must not be used again, because the new edge
            // comes last. So its place becomes vacant when the list is made anew, which happens
            // once for as many removals as there are edges left.
            if 2 * removedCount > edges.count {
                vacant += edges.filter { $0.pointee.dependencyAddress == nil }
                edges.removeAll { $0.pointee.dependencyAddress == nil }
                removedCount = 0
            }
            return count
        }
    }

    // Computed, like the flags of `LifecycleState`.
    private static var orderMark: UInt { 1 }

    private static func order(of edges: Pointer) -> EdgeOrder? {
        let vacancy = edges.pointee.vacancy
        guard vacancy & orderMark != 0,
            let address = UnsafeRawPointer(bitPattern: vacancy & ~orderMark)
        else { return nil }
        return Unmanaged<EdgeOrder>.fromOpaque(address).takeUnretainedValue()
    }

    /// Drops the order, and with it the list of vacant places.
    private static func takeOrder(of edges: Pointer) {
        guard let order = order(of: edges) else { return }
        edges.pointee.vacancy = 0
        Unmanaged.passUnretained(order).release()
    }

    private static func addFurther(
        _ dependency: UnsafeMutableRawPointer, to edges: Pointer
    ) -> EdgePointer {
        let order = order(of: edges)
        let edge = order?.vacant.popLast() ?? addToBlock(of: edges)
        edge.pointee.dependencyAddress = dependency
        order?.append(edge)
        return edge
    }

    private static func addToBlock(of edges: Pointer) -> EdgePointer {
        var block = edges.pointee.latestBlock
        if block.map({ $0.pointee.count == $0.pointee.capacity }) ?? true {
            let capacity = block.map { min($0.pointee.capacity * 2, 1024) } ?? inlineCapacity
            let memory = Memory.allocate(
                byteCount: MemoryLayout<Block>.stride + capacity * MemoryLayout<Edge>.stride)
            let new = memory.bindMemory(to: Block.self, capacity: 1)
            new.initialize(to: Block(older: block, capacity: capacity))
            edges.pointee.latestBlock = new
            block = new
        }
        guard let block else { fatalError("unreachable: a block was just made") }
        let place = Self.edges(of: block) + block.pointee.count
        block.pointee.count += 1
        place.initialize(to: Edge(dependent: inlineEdges(edges).dependentAddress))
        return place
    }

    /// Calls `body` with every edge, including vacant ones, from the latest block to the first.
    @inline(__always)
    static func forEach(_ edges: Pointer, _ body: (EdgePointer) -> Void) {
        var block = edges.pointee.latestBlock
        while let current = block {
            for index in 0..<current.pointee.count { body(Self.edges(of: current) + index) }
            block = current.pointee.older
        }
        for index in 0..<inlineCapacity { body(inlineEdges(edges) + index) }
    }

    /// Returns all places of edges, including vacant ones, from the first block to the latest.
    private static func places(_ edges: Pointer) -> [EdgePointer] {
        var blocks: [UnsafeMutablePointer<Block>] = []
        var block = edges.pointee.latestBlock
        while let current = block {
            blocks.append(current)
            block = current.pointee.older
        }
        var places = (0..<inlineCapacity).map { inlineEdges(edges) + $0 }
        for block in blocks.reversed() {
            places += (0..<block.pointee.count).map { Self.edges(of: block) + $0 }
        }
        return places
    }

    /// Returns the edges, including vacant ones, in the order in which they were added.
    static func inOrder(_ edges: Pointer) -> [EdgePointer] {
        order(of: edges)?.edges ?? places(edges)
    }

    /// Removes all edges, none of which is linked, and passes their references to `body`.
    @inline(__always)
    static func takeDependencies(
        _ edges: Pointer, _ body: (UnsafeMutableRawPointer) -> Void
    ) {
        forEach(edges) { edge in
            if let dependency = edge.pointee.dependencyAddress {
                edge.remove()
                body(dependency)
            }
        }
        takeOrder(of: edges)
        deallocateBlocks(of: edges)
        setAllVacant(edges)
    }

    // MARK: Successors, under this operation's lock

    private static func list(of edges: Pointer) -> UnsafeMutablePointer<EdgePointer?> {
        // The list's head is the first field of the header.
        UnsafeMutableRawPointer(edges).assumingMemoryBound(to: EdgePointer?.self)
    }

    @inline(__always)
    static func link(_ edge: EdgePointer, into edges: Pointer) {
        let head = list(of: edges)
        edge.pointee.next = head.pointee
        edge.pointee.previous = head
        if let next = head.pointee { next.pointee.previous = Self.link(of: edge) }
        head.pointee = edge
    }

    @inline(__always)
    static func unlink(_ edge: EdgePointer) {
        edge.pointee.previous?.pointee = edge.pointee.next
        edge.pointee.next?.pointee.previous = edge.pointee.previous
        edge.pointee.next = nil
        edge.pointee.previous = nil
    }

    private static func link(of edge: EdgePointer) -> UnsafeMutablePointer<EdgePointer?> {
        guard let offset = MemoryLayout<Edge>.offset(of: \.next) else {
            fatalError("unreachable: a stored property has a place")
        }
        return (UnsafeMutableRawPointer(edge) + offset).assumingMemoryBound(to: EdgePointer?.self)
    }

    /// Unlinks and returns the edge of the latest successor.
    ///
    /// The edge lies in the dependent's memory, so the caller does not touch the edge once it has
    /// released the dependent.
    @inline(__always)
    static func popSuccessor(_ edges: Pointer) -> EdgePointer? {
        guard let edge = list(of: edges).pointee else { return nil }
        unlink(edge)
        return edge
    }

    /// Calls `body` with each edge in the list for as long as `body` returns true. Returns whether
    /// it always did.
    static func allSuccessors(_ edges: Pointer, _ body: (EdgePointer) -> Bool) -> Bool {
        var edge = list(of: edges).pointee
        while let current = edge {
            guard body(current) else { return false }
            edge = current.pointee.next
        }
        return true
    }

    /// Calls `body` with each edge in the list.
    static func forEachSuccessor(_ edges: Pointer, _ body: (EdgePointer) -> Void) {
        var edge = list(of: edges).pointee
        while let current = edge {
            edge = current.pointee.next
            body(current)
        }
    }
}
