/// What an operation says of its place in the order of the graph: a label, or that a search has
/// marked the operation.
struct Rank {
    /// Between two operations that are made one after the other.
    static let gap = 1 << 14
    /// Between two operations that are moved to where nothing is in the way: less than the gap, so
    /// that operations that are made later are soon beyond them.
    static let step = 1 << 8
    static let highestLabel = 1 << 61
    static let exponentLimit = 60

    /// Twice the label, or the address of the visit, plus 1.
    let bits: Int

    init(bits: Int) { self.bits = bits }
    init(label: Int) { bits = label << 1 }
    init(markedBy visit: Visit.Pointer) { bits = Int(bitPattern: visit) | 1 }

    var isMarked: Bool {
        @inline(__always) get { bits & 1 != 0 }
    }
    var label: Int { bits >> 1 }
    /// Not to be followed: it may be another thread's, and gone.
    var visit: Visit.Pointer {
        guard let visit = Visit.Pointer(bitPattern: bits & ~1) else {
            fatalError("unreachable: no visit lies at the address 0")
        }
        return visit
    }
}
