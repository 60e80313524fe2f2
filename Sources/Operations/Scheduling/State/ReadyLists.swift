import OperationsRuntime

/// What is ready in a queue, beside the bits of its ring, and the order in which that starts.
///
/// A value without locks: the queue's lock guards the state that it is a part of.
struct ReadyLists {
    /// The number of entries in the ready lists of the priorities.
    var count = 0
    /// The sources that have ready entries.
    var sources = ReadySources()
    /// The order of ready operations.
    var order = ReadyOrder.priority
    /// The ready operations, and others, that do not go by their places.
    var rescheduled = RescheduledOperations()
    /// The operations that were claimed when they were given their permits, retained for the
    /// workers; see `grant`.
    var admitted = AdmittedOperations()
    /// The operations that only an override of `isReady` holds back.
    var declined = DeclinedOperations()

    /// Returns the time in nanoseconds, in place of the monotonic clock.
    var clock: (@Sendable () -> Int64)? { didSet { latestTime = 0 } }
    /// The latest time that the clock has shown to ``now()``.
    private var latestTime: Int64 = 0

    /// Whether operations, blocks or entries of sources are ready.
    var hasAny: Bool {
        @inline(__always) get { count > 0 || !sources.isEmpty }
    }

    /// Returns the time of the queue's clock, in nanoseconds. A time that goes back counts as one
    /// that stands still, and a negative one as 0.
    mutating func now() -> Int64 {
        let time = clock?() ?? Int64(truncatingIfNeeded: monotonicNanoseconds())
        latestTime = max(latestTime, time)
        return latestTime
    }

    /// Puts a ready operation where it belongs, if that is not the lane of its priority in the
    /// ring. Returns false if it is.
    ///
    /// - Parameters:
    ///   - isRescheduled: whether the operation has a deadline, or another priority than when it
    ///     was added.
    ///   - time: the time since which the operation has been ready; nil for now.
    mutating func setReady(
        _ place: Int, lane: Int, isRescheduled: Bool, since time: Int64?
    ) -> Bool {
        if order.isAging {
            rescheduled.setReady(place, lane: lane, since: time ?? now(), in: order)
        } else if isRescheduled || order.sharesFairly {
            rescheduled.setReady(place, lane: lane, in: order)
        } else {
            return false
        }
        return true
    }

    /// Removes a ready operation that is not in the lane of its priority. Returns false if it is
    /// not here.
    mutating func clearReady(_ place: Int) -> Bool {
        !rescheduled.isEmpty && rescheduled.clearReady(place)
    }

    /// Updates the stored places after the ring has moved its operations.
    mutating func renumber(_ places: Renumbering) {
        if !rescheduled.isEmpty { rescheduled.renumber(places, in: order) }
        if let cursor = order.cursor { order.advance(to: places.first(from: cursor)) }
    }
}

/// Operations that only an override of `isReady` holds back, retained, and the number of events so
/// far at which such overrides are read again.
struct DeclinedOperations {
    /// The number of operations whose override one event reads again, unless that event may be the
    /// last one for now.
    private static var askedAtOnce: Int { 64 }

    private(set) var eventNumber = 0
    private var operations = FIFO<Unmanaged<Operation>>()

    var count: Int { operations.count }

    mutating func append(_ operation: Unmanaged<Operation>) { operations.append(operation) }

    /// Takes the operations whose override to read again at this event, in the order in which they
    /// were recorded.
    ///
    /// Many operations may wait for an announcement, and each of many events would read the
    /// override of all of them. So each event takes a few operations, in turns.
    ///
    /// - Parameter isLast: whether no event may follow, so that this one takes all.
    mutating func take(isLast: Bool) -> [Unmanaged<Operation>] {
        eventNumber &+= 1
        guard !operations.isEmpty else { return [] }
        var taken: [Unmanaged<Operation>] = []
        for _ in 0..<(isLast ? operations.count : min(operations.count, Self.askedAtOnce)) {
            guard let operation = operations.popFirst() else { break }
            taken.append(operation)
        }
        return taken
    }
}
