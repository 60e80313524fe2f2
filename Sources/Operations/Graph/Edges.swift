/// One operation waits for another one.
///
/// Lies in memory of the dependent's. `dependency` is guarded by the dependent's lock, the links by the
/// dependency's.
struct Edge {
    /// The dependent's address; of the last bits, which are 0 there, two are the condition, and one says that the
    /// edge is unchecked. That one changes under both locks only, while the edge is linked.
    fileprivate var bits: UInt
    /// Retained; nil once the edge was taken away.
    var dependency: Unmanaged<Operation>?
    var next: UnsafeMutablePointer<Edge>?
    /// What points at this edge in the dependency's list; nil when it is in none.
    var previous: UnsafeMutablePointer<UnsafeMutablePointer<Edge>?>?

    init(dependent: Unmanaged<Operation>) {
        bits = UInt(bitPattern: dependent.toOpaque())
    }

    fileprivate static var conditionMask: UInt { 0b11 }
    fileprivate static var uncheckedBit: UInt { 0b100 }
    fileprivate static var markMask: UInt { 0b111 }

    var isLinked: Bool {
        @inline(__always) get { previous != nil }
    }
}

// Not properties of the edge itself: asking it would read all of it, also what another lock guards.
extension UnsafeMutablePointer<Edge> {
    var dependent: Unmanaged<Operation> {
        @inline(__always) get {
            let address = UnsafeRawPointer(bitPattern: pointee.bits & ~Edge.markMask)
            return Unmanaged.fromOpaque(address.unsafelyUnwrapped)
        }
    }

    var condition: DependencyCondition {
        @inline(__always) get {
            DependencyCondition(rawValue: pointee.bits & Edge.conditionMask) ?? .always
        }
        nonmutating set { pointee.bits = pointee.bits & ~Edge.conditionMask | newValue.rawValue }
    }

    /// Whether its place in the order of the graph is still to be found, so that no search may follow it.
    var isUnchecked: Bool {
        @inline(__always) get { pointee.bits & Edge.uncheckedBit != 0 }
        nonmutating set {
            pointee.bits = pointee.bits & ~Edge.uncheckedBit | (newValue ? Edge.uncheckedBit : 0)
        }
    }

    /// Makes it an edge without a condition, and a checked one.
    fileprivate func clearMarks() { pointee.bits &= ~Edge.markMask }
}

/// The edges of one operation, in both directions. Made with the first of either.
///
/// Dependencies lie in blocks of growing size, the first of them right behind this header: two fit there
/// without another allocation. Edges do not move, for they are linked by address.
struct Edges {
    typealias Pointer = UnsafeMutablePointer<Edges>
    typealias EdgePointer = UnsafeMutablePointer<Edge>

    private static let inlineCapacity = 2

    /// The edges of those who wait for this operation, the latest first.
    private var successors: EdgePointer?
    private var latestBlock: UnsafeMutablePointer<Block>?
    /// The first of the edges that are free for use, linked by `next`; or, marked by its last bit, the
    /// `EdgeOrder`, which then has them.
    private var vacancy: UInt = 0

    private struct Block {
        let older: UnsafeMutablePointer<Block>?
        let capacity: Int
        var count = 0
    }

    static func allocate(for dependent: Operation) -> Pointer {
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: MemoryLayout<Edges>.stride + inlineCapacity * MemoryLayout<Edge>.stride,
            alignment: MemoryLayout<Edges>.alignment)
        let edges = memory.bindMemory(to: Edges.self, capacity: 1)
        edges.initialize(to: Edges())
        let first = inlineEdges(edges)
        let edge = Edge(dependent: .passUnretained(dependent))
        first.initialize(repeating: edge, count: inlineCapacity)
        setVacant(inlineIn: edges)
        return edges
    }

    private static func setVacant(inlineIn edges: Pointer) {
        let first = inlineEdges(edges)
        first.pointee.next = first + 1
        first[1].next = nil
        edges.pointee.vacancy = UInt(bitPattern: first)
    }

    static func deallocate(_ edges: Pointer) {
        takeOrder(of: edges)
        deallocateBlocks(of: edges)
        UnsafeMutableRawPointer(edges).deallocate()
    }

    private static func deallocateBlocks(of edges: Pointer) {
        var block = edges.pointee.latestBlock
        while let current = block {
            block = current.pointee.older
            UnsafeMutableRawPointer(current).deallocate()
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

    /// A free edge of `edges`, for the caller to point at a dependency.
    @inline(__always)
    static func add(to edges: Pointer) -> EdgePointer {
        let vacancy = edges.pointee.vacancy
        guard vacancy & orderMark == 0, let edge = EdgePointer(bitPattern: vacancy) else {
            return addFurther(to: edges)
        }
        edges.pointee.vacancy = UInt(bitPattern: edge.pointee.next)
        edge.pointee.next = nil
        return edge
    }

    /// Takes the dependency away from each edge for which `isRemoved` says so, and which is then in no list;
    /// returns how many these are. It is asked of the edges that were added last first.
    ///
    /// The other edges keep their order, and edges that are added later come behind them.
    static func remove(from edges: Pointer, where isRemoved: (EdgePointer) -> Bool) -> Int {
        let places = places(edges)
        let order = order(of: edges)
        var count = 0
        for edge in (order?.edges ?? places).reversed()
        where edge.pointee.dependency != nil && isRemoved(edge) {
            edge.pointee.dependency = nil
            edge.clearMarks()
            count += 1
        }
        guard count > 0 else { return 0 }
        let vacant = places.filter { $0.pointee.dependency == nil }
        let kept = (order?.edges ?? places).filter { $0.pointee.dependency != nil }
        if let order, !kept.isEmpty {
            (order.edges, order.vacant) = (kept, vacant.reversed())
            return count
        }
        takeOrder(of: edges)
        if places.prefix(kept.count).allSatisfy({ $0.pointee.dependency != nil }) {
            // What is added next takes the first vacant place, which is behind all that are kept.
            for (edge, next) in zip(vacant, vacant.dropFirst()) { edge.pointee.next = next }
            vacant.last?.pointee.next = nil
            edges.pointee.vacancy = UInt(bitPattern: vacant.first)
        } else {
            let order = EdgeOrder(kept, vacant: vacant.reversed())
            let address = UInt(bitPattern: Unmanaged.passRetained(order).toOpaque())
            edges.pointee.vacancy = address | orderMark
        }
        return count
    }

    /// The order in which edges were added, once it is not that of their places.
    private final class EdgeOrder {
        var edges: [EdgePointer]
        var vacant: [EdgePointer]

        init(_ edges: [EdgePointer], vacant: [EdgePointer]) {
            (self.edges, self.vacant) = (edges, vacant)
        }
    }

    // Computed, as the flags of `LifecycleState` are.
    private static var orderMark: UInt { 1 }

    private static func order(of edges: Pointer) -> EdgeOrder? {
        let vacancy = edges.pointee.vacancy
        guard vacancy & orderMark != 0,
            let address = UnsafeRawPointer(bitPattern: vacancy & ~orderMark)
        else { return nil }
        return Unmanaged<EdgeOrder>.fromOpaque(address).takeUnretainedValue()
    }

    /// Forgets the order, and with it which places are vacant.
    private static func takeOrder(of edges: Pointer) {
        guard let order = order(of: edges) else { return }
        edges.pointee.vacancy = 0
        Unmanaged.passUnretained(order).release()
    }

    private static func addFurther(to edges: Pointer) -> EdgePointer {
        guard let order = order(of: edges) else { return addToBlock(of: edges) }
        let edge = order.vacant.popLast() ?? addToBlock(of: edges)
        order.edges.append(edge)
        return edge
    }

    private static func addToBlock(of edges: Pointer) -> EdgePointer {
        var block = edges.pointee.latestBlock
        if block.map({ $0.pointee.count == $0.pointee.capacity }) ?? true {
            let capacity = block.map { min($0.pointee.capacity * 2, 1024) } ?? inlineCapacity
            let memory = UnsafeMutableRawPointer.allocate(
                byteCount: MemoryLayout<Block>.stride + capacity * MemoryLayout<Edge>.stride,
                alignment: MemoryLayout<Block>.alignment)
            let new = memory.bindMemory(to: Block.self, capacity: 1)
            new.initialize(to: Block(older: block, capacity: capacity))
            edges.pointee.latestBlock = new
            block = new
        }
        guard let block else { fatalError("unreachable: a block was just made") }
        let place = Self.edges(of: block) + block.pointee.count
        block.pointee.count += 1
        place.initialize(to: Edge(dependent: inlineEdges(edges).dependent))
        return place
    }

    /// Calls `body` with every edge, also vacant ones, those of the latest block first.
    @inline(__always)
    static func forEach(_ edges: Pointer, _ body: (EdgePointer) -> Void) {
        var block = edges.pointee.latestBlock
        while let current = block {
            for index in 0..<current.pointee.count { body(Self.edges(of: current) + index) }
            block = current.pointee.older
        }
        for index in 0..<inlineCapacity { body(inlineEdges(edges) + index) }
    }

    /// Calls `body` with every edge, also vacant ones, for as long as it returns true. Whether it always did.
    static func allDependencies(_ edges: Pointer, _ body: (EdgePointer) -> Bool) -> Bool {
        for index in 0..<inlineCapacity {
            guard body(inlineEdges(edges) + index) else { return false }
        }
        var block = edges.pointee.latestBlock
        while let current = block {
            for index in 0..<current.pointee.count {
                guard body(Self.edges(of: current) + index) else { return false }
            }
            block = current.pointee.older
        }
        return true
    }

    /// All places of edges, also vacant ones, those of the latest block last.
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

    /// The dependencies in the order in which they were added.
    static func dependencies(_ edges: Pointer) -> [Operation] {
        (order(of: edges)?.edges ?? places(edges)).compactMap {
            $0.pointee.dependency?.takeUnretainedValue()
        }
    }

    /// Forgets all edges, none of which is linked, and hands the references over.
    @inline(__always)
    static func takeDependencies(_ edges: Pointer, _ body: (Unmanaged<Operation>) -> Void) {
        forEach(edges) { edge in
            if let dependency = edge.pointee.dependency {
                edge.pointee.dependency = nil
                edge.clearMarks()
                body(dependency)
            }
        }
        takeOrder(of: edges)
        deallocateBlocks(of: edges)
        setVacant(inlineIn: edges)
    }

    // MARK: Successors, under this operation's lock

    static func hasSuccessors(_ edges: Pointer) -> Bool { edges.pointee.successors != nil }

    private static func list(of edges: Pointer) -> UnsafeMutablePointer<EdgePointer?> {
        // The list's head is the first thing in the header.
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

    /// Takes the latest successor's edge off the list. Its memory is the dependent's: it is not touched
    /// any more once the dependent has been told.
    @inline(__always)
    static func popSuccessor(_ edges: Pointer) -> EdgePointer? {
        guard let edge = list(of: edges).pointee else { return nil }
        unlink(edge)
        return edge
    }

    /// Calls `body` with each edge in the list for as long as it returns true. Whether it always did.
    static func allSuccessors(_ edges: Pointer, _ body: (EdgePointer) -> Bool) -> Bool {
        var edge = list(of: edges).pointee
        while let current = edge {
            guard body(current) else { return false }
            edge = current.pointee.next
        }
        return true
    }

    /// Calls `body` with the dependent and the condition of each edge in the list.
    static func forEachSuccessor(
        _ edges: Pointer, _ body: (Unmanaged<Operation>, DependencyCondition) -> Void
    ) {
        var edge = list(of: edges).pointee
        while let current = edge {
            edge = current.pointee.next
            body(current.dependent, current.condition)
        }
    }
}
