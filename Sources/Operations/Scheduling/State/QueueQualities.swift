import OperationsRuntime

/// The qualities of service in a queue: its own, those of its places, and what its executor holds.
///
/// A value without locks: the queue's lock guards the state that it is a part of.
struct QueueQualities {
    /// The rank of the queue's quality of service.
    var rank = 0
    /// The ranks of places.
    var marks = QualityMarks()
    /// The urgencies of the references to this queue that its executor holds.
    var offered = OfferedUrgencies()

    /// Whether qualities decide what is claimed.
    var areInUse: Bool {
        @inline(__always) get { marks.areInUse }
    }

    /// Begins to use qualities, because of an operation with this rank. Returns false if they are
    /// in use already, or the rank makes the operation neither more nor less urgent than usual.
    mutating func begin(at rank: Int) -> Bool {
        guard !areInUse, Urgency(rank: rank) != .usual else { return false }
        marks.beginUse()
        return true
    }

    /// Ends to use qualities in a queue that is empty, unless its executor has a reference to it
    /// that came of a quality.
    mutating func endIfUnused() {
        if offered.areUsual { marks.endUse() }
    }
}
