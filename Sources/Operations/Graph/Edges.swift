/// One operation waits for another one.
///
/// Lies in memory of the dependent's. `dependency` is guarded by the dependent's lock, the links by the
/// dependency's.
struct Edge {
    /// The dependent's address; the last bits, which are 0 there, are the condition.
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

    var isLinked: Bool {
        @inline(__always) get { previous != nil }
    }
}

// Not properties of the edge itself: asking it would read all of it, also what another lock guards.
extension UnsafeMutablePointer<Edge> {
    var dependent: Unmanaged<Operation> {
        @inline(__always) get {
            let address = UnsafeRawPointer(bitPattern: pointee.bits & ~Edge.conditionMask)
            return Unmanaged.fromOpaque(address.unsafelyUnwrapped)
        }
    }

    var condition: DependencyCondition {
        @inline(__always) get {
            DependencyCondition(rawValue: pointee.bits & Edge.conditionMask) ?? .always
        }
        nonmutating set { pointee.bits = pointee.bits & ~Edge.conditionMask | newValue.rawValue }
    }
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
    /// Edges that are free for use, linked by `next`.
    private var vacant: EdgePointer?

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
        first.pointee.next = first + 1
        edges.pointee.vacant = first
        return edges
    }

    static func deallocate(_ edges: Pointer) {
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
        guard let edge = edges.pointee.vacant else { return addFurther(to: edges) }
        edges.pointee.vacant = edge.pointee.next
        edge.pointee.next = nil
        return edge
    }

    /// Takes a dependency away from an edge that is in no list.
    static func remove(_ edge: EdgePointer, from edges: Pointer) {
        edge.pointee.dependency = nil
        edge.condition = .always
        edge.pointee.next = edges.pointee.vacant
        edges.pointee.vacant = edge
    }

    private static func addFurther(to edges: Pointer) -> EdgePointer {
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

    /// The dependencies in the order in which they were added, if none was taken away.
    static func dependencies(_ edges: Pointer) -> [Operation] {
        var blocks: [[Operation]] = []
        var block = edges.pointee.latestBlock
        while let current = block {
            blocks.append(
                (0..<current.pointee.count).compactMap {
                    Self.edges(of: current)[$0].dependency?.takeUnretainedValue()
                })
            block = current.pointee.older
        }
        let first = (0..<inlineCapacity).compactMap {
            inlineEdges(edges)[$0].dependency?.takeUnretainedValue()
        }
        return first + blocks.reversed().joined()
    }

    /// Forgets all edges, none of which is linked, and hands the references over.
    @inline(__always)
    static func takeDependencies(_ edges: Pointer, _ body: (Unmanaged<Operation>) -> Void) {
        forEach(edges) { edge in
            if let dependency = edge.pointee.dependency {
                edge.pointee.dependency = nil
                edge.condition = .always
                body(dependency)
            }
        }
        deallocateBlocks(of: edges)
        let first = inlineEdges(edges)
        first.pointee.next = first + 1
        first[1].next = nil
        edges.pointee.vacant = first
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
