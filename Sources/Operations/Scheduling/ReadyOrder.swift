/// The rule by which a queue chooses the operation to start next, with the data of that rule; see
/// OrderOfClaims.md.
///
/// The rule reads no clock: callers pass the times. Spans and times are in nanoseconds.
enum ReadyOrder {
    /// The highest priority goes first; among equal priorities, the earliest deadline, and then the
    /// first place.
    case priority
    /// As ``priority``, but a ready operation counts one priority higher after each span.
    case aging(span: Int64)
    /// As ``priority``, or as ``aging(span:)`` if there is a span, but the last place goes first.
    case lifo(agingSpan: Int64?)
    /// The first place goes first, whether its operation is ready or not. No operation before the
    /// cursor holds back others. The span is kept for the next order and has no effect in this one.
    case fifo(cursor: Int, agingSpan: Int64?)

    /// - Parameter cursor: the place at which a strict order begins.
    init(_ order: OperationQueueOrder, agingSpan span: Int64?, cursor: Int) {
        switch order {
        case .priority: self = span.map { .aging(span: $0) } ?? .priority
        case .fifo: self = .fifo(cursor: cursor, agingSpan: span)
        case .lifo: self = .lifo(agingSpan: span)
        }
    }

    // MARK: Settings

    /// The queue's order as users set it.
    var setting: OperationQueueOrder {
        switch self {
        case .priority, .aging: .priority
        case .lifo: .lifo
        case .fifo: .fifo
        }
    }

    /// The queue's span as users set it, whether it has an effect or not.
    var agingSpan: Int64? {
        switch self {
        case .priority: nil
        case .aging(let span): span
        case .lifo(let span), .fifo(_, let span): span
        }
    }

    // MARK: Properties of the rule

    /// Whether only priorities, places and barriers decide the order.
    @inline(__always)
    var isDefault: Bool {
        // In this form the compiler compares little more than the byte that tells the cases apart.
        switch self {
        case .aging, .lifo, .fifo: false
        case .priority: true
        }
    }

    /// Whether the order is strictly the order of adding.
    @inline(__always)
    var isStrict: Bool { if case .fifo = self { true } else { false } }

    /// Whether a ready operation counts for more as time goes by. All ready operations are then
    /// among the ``RescheduledOperations``.
    var isAging: Bool { effectiveSpan != nil }

    private var effectiveSpan: Int64? { isStrict ? nil : agingSpan }

    /// Returns the key that orders a ready operation.
    ///
    /// After each span, counted on a grid that all operations share, an operation counts one
    /// priority higher. At any time its level is
    ///
    ///     priority level + ⌊now / span⌋ − ⌊time of readiness / span⌋
    ///
    /// The term with the current time is the same for all operations, so the order never changes.
    /// The rest of the formula, with its sign changed, is the step of the key.
    ///
    /// - Parameters:
    ///   - turn: the operation's key by deadline and place.
    ///   - time: the time since which the operation has been ready, not negative; nil in an order
    ///     without aging.
    func sortKey(_ turn: SortKey, place: Int, lane: Int, readySince time: Int64?) -> SortKey {
        var key = turn
        if case .lifo = self { key.number = -place }
        if let span = effectiveSpan, let time { key.step = time / span - Int64(lane) }
        return key
    }

    // MARK: The cursor of a strict order

    /// The place before which no operation holds back others; nil if the order is not strict.
    var cursor: Int? { if case .fifo(let cursor, _) = self { cursor } else { nil } }

    /// Moves the cursor to `place`; the operations before it are past.
    mutating func advance(to place: Int) {
        guard case .fifo(_, let span) = self else { return }
        self = .fifo(cursor: place, agingSpan: span)
    }

    /// Moves the cursor back to `place` if it is further on. The operation there is no longer past.
    @inline(never)
    mutating func moveBack(to place: Int) {
        if let cursor, place < cursor { advance(to: place) }
    }
}
