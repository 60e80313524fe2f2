import OperationsRuntime

/// The places of a queue that are promoted by later operations and by the queue itself.
///
/// An addition writes nothing to the operations ahead of it. The marks store, for each rank, how
/// far the promotion reaches; a claim of an operation, or a query about it, reads the marks. So an
/// addition costs the same however many operations the queue has.
struct QualityMarks {
    /// For each rank from 1, the end of the promotion: all places before it are promoted to that
    /// rank.
    private var ends = SIMD4<Int>(repeating: 0)
    /// The ends of the promotions by the queue.
    private var queueEnds = SIMD4<Int>(repeating: 0)

    /// Whether qualities are in use in the queue: whether the queue has held an operation that is
    /// more or less urgent than usual since the queue was last empty. Until then all operations
    /// here are claimed as if there were no qualities.
    private(set) var areInUse = false

    mutating func beginUse() {
        if !areInUse { QualityOfServiceUse.changes(inQueue: true) }
        areInUse = true
    }

    mutating func endUse() {
        if areInUse { QualityOfServiceUse.changes(inQueue: false) }
        areInUse = false
    }

    /// The first place that no promotion reaches.
    var end: Int { max(ends.max(), queueEnds.max()) }

    /// Promotes all places before `place`. Returns the places that had not been promoted that far.
    @inline(__always)
    mutating func raise(before place: Int, to rank: Int) -> Range<Int> {
        var reached = 0
        for higher in rank - 1..<4 { reached = max(reached, ends[higher], queueEnds[higher]) }
        ends[rank - 1] = max(ends[rank - 1], place)
        return reached..<max(reached, place)
    }

    /// Promotes all places before `tail`, the current end of the places, to the queue's quality.
    mutating func raiseByQueue(before tail: Int, to rank: Int) {
        queueEnds[rank - 1] = max(queueEnds[rank - 1], tail)
    }

    /// Applies the promotions that reach a place to `quality`. Returns whether that changed
    /// `quality`.
    func apply(to quality: inout QualityOfServiceState, at place: Int) -> Bool {
        var changed = false
        for index in (0..<4).reversed() {
            if ends[index] > place, quality.promote(to: index + 1) { changed = true }
            if queueEnds[index] > place, quality.promoteByQueue(to: index + 1) { changed = true }
        }
        return changed
    }

    /// Adjusts the marks after the ring has moved its operations. `places` maps old places to new
    /// places; both are in ascending order.
    mutating func renumber(_ places: [(old: Int, new: Int)], tail: Int) {
        for index in 0..<4 {
            ends[index] = Self.translated(ends[index], places, tail: tail)
            queueEnds[index] = Self.translated(queueEnds[index], places, tail: tail)
        }
    }

    private static func translated(_ end: Int, _ places: [(old: Int, new: Int)], tail: Int) -> Int {
        if end == 0 { return 0 }
        let index = places.partitioningIndex { $0.old >= end }
        return index < places.count ? places[index].new : tail
    }
}
