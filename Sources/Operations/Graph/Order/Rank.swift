/// An operation's place in the order of the graph: a label, or the mark of a search that has
/// visited the operation.
struct Rank {
    /// The distance between two operations that are made one after the other.
    static let gap = 1 << 14
    /// The distance between two operations that are moved to where the labels are free. It is less
    /// than the gap, so that operations made later are soon beyond the moved ones.
    static let step = 1 << 8
    static let highestLabel = 1 << 61
    static let exponentLimit = 60

    /// Twice the label, or the address of the visit plus 1.
    let bits: Int

    init(bits: Int) { self.bits = bits }
    init(label: Int) { bits = label << 1 }
    init(markedBy visit: Visit.Pointer) { bits = Int(bitPattern: visit) | 1 }

    var isMarked: Bool {
        @inline(__always) get { bits & 1 != 0 }
    }
    var label: Int { bits >> 1 }
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
