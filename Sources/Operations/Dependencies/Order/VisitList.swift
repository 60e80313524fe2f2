/// An operation that a search has visited.
struct Visit {
    typealias Pointer = UnsafeMutablePointer<Visit>

    let operation: OperationAddress
    /// The operation's place in the order. A search changes it here first.
    var label: Int
    /// The visit that led to this one, nearer to the operation where the side began; nil for that
    /// operation.
    let origin: Pointer?
    /// Whether the other side of the search has visited the operation too. That side then restores
    /// the operation's rank.
    var isAbsorbed = false
}

/// A list of visits, which do not move, because the operations' ranks point at them.
struct VisitList {
    static let firstCapacity = 32

    private let first: Visit.Pointer
    /// Further blocks of memory, each twice as large as the one before.
    private var further: [UnsafeMutableBufferPointer<Visit>] = []
    private(set) var count = 0

    /// - Parameter first: memory for ``firstCapacity`` visits, which the caller owns.
    init(in first: Visit.Pointer) { self.first = first }

    func deallocate() {
        for block in further { block.deallocate() }
    }

    subscript(index: Int) -> Visit.Pointer {
        if index < Self.firstCapacity { return first + index }
        let quotient = UInt(index / Self.firstCapacity + 1)
        let block = UInt.bitWidth - 1 - quotient.leadingZeroBitCount
        let start = ((1 << block) - 1) * Self.firstCapacity
        guard let base = further[block - 1].baseAddress else {
            fatalError("unreachable: blocks are not empty")
        }
        return base + (index - start)
    }

    func contains(_ visit: Visit.Pointer) -> Bool {
        if first <= visit, visit < first + Self.firstCapacity { return true }
        return further.contains { block in
            guard let base = block.baseAddress else { return false }
            return base <= visit && visit < base + block.count
        }
    }

    mutating func append(_ visit: Visit) -> Visit.Pointer {
        let capacity = ((1 << (further.count + 1)) - 1) * Self.firstCapacity
        if count == capacity {
            further.append(.allocate(capacity: Self.firstCapacity << (further.count + 1)))
        }
        let place = self[count]
        place.initialize(to: visit)
        count += 1
        return place
    }

    mutating func removeLast() { count -= 1 }
}

extension Rank {
    init(markedBy visit: Visit.Pointer) { self.init(bits: Int(bitPattern: visit) | 1) }

    /// The visit that marks the operation.
    ///
    /// The pointer must not be dereferenced unless the visit is known to belong to this search:
    /// another thread's visit may be gone.
    var visit: Visit.Pointer {
        guard let visit = Visit.Pointer(bitPattern: bits & ~1) else {
            fatalError("unreachable: no visit lies at the address 0")
        }
        return visit
    }
}
