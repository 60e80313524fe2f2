/// Which places of a queue are promoted by what comes after them, and by the queue.
///
/// Nothing is written to the operations when one is added behind them: for each rank it is kept how far
/// the promotion reaches, and whoever takes an operation out, or asks about it, looks there. So an
/// addition costs the same however many there are.
struct QualityMarks {
    /// For each rank from 1: all places before this one are promoted to it.
    private var ends = SIMD4<Int>(repeating: 0)
    /// The same, for promotions by the queue.
    private var queueEnds = SIMD4<Int>(repeating: 0)

    /// The first place that nothing here reaches.
    var end: Int { max(ends.max(), queueEnds.max()) }

    /// Promotes all before `place`; what is returned had not been promoted that far.
    @inline(__always)
    mutating func raise(before place: Int, to rank: Int) -> Range<Int> {
        var reached = 0
        for higher in rank - 1..<4 { reached = max(reached, ends[higher], queueEnds[higher]) }
        ends[rank - 1] = max(ends[rank - 1], place)
        return reached..<max(reached, place)
    }

    /// The queue's quality was raised while its places ended at `tail`.
    mutating func raiseByQueue(before tail: Int, to rank: Int) {
        queueEnds[rank - 1] = max(queueEnds[rank - 1], tail)
    }

    /// Applies to `quality` what reaches a place; true if that changed it.
    func apply(to quality: inout QualityOfServiceState, at place: Int) -> Bool {
        var changed = false
        for index in (0..<4).reversed() {
            if ends[index] > place, quality.promote(to: index + 1) { changed = true }
            if queueEnds[index] > place, quality.promoteByQueue(to: index + 1) { changed = true }
        }
        return changed
    }

    /// The ring has moved its operations: `places` maps old places to new ones, both rising.
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
