/// The rule by which a queue chooses the operation to start next, with the data of that rule; see
/// OrderOfClaims.md.
///
/// The rule reads no clock: callers pass the times. Spans and times are in nanoseconds.
///
/// - ``OperationQueueOrder/priority``: the highest priority goes first; among equal priorities, the
///   earliest deadline, and then the first place.
/// - ``OperationQueueOrder/lifo``: the same, but the last place goes first.
/// - ``OperationQueueOrder/fifo``: the first place goes first, whether its operation is ready or
///   not. No operation before the cursor holds back others.
/// - With a span, a ready operation counts one priority higher after each span.
/// - With groups, the groups of one priority take turns, and the order decides within a group.
///
/// A strict order keeps the span and the groups for the next order. They have no effect in it.
struct ReadyOrder {
    /// The queue's order as users set it.
    let setting: OperationQueueOrder
    /// The queue's span as users set it, whether it has an effect or not.
    let agingSpan: Int64?
    /// Whether the queue has groups, whether these have an effect or not.
    let hasGroups: Bool
    /// Whether only priorities, places and barriers decide the order.
    let isDefault: Bool
    /// The place before which no operation holds back others; nil if the order is not strict.
    private(set) var cursor: Int?

    /// The default order.
    static var priority: ReadyOrder { ReadyOrder(.priority, agingSpan: nil, cursor: 0) }

    /// - Parameter cursor: the place at which a strict order begins.
    init(
        _ setting: OperationQueueOrder, agingSpan: Int64?, hasGroups: Bool = false, cursor: Int
    ) {
        (self.setting, self.agingSpan, self.hasGroups) = (setting, agingSpan, hasGroups)
        isDefault = setting == .priority && agingSpan == nil && !hasGroups
        self.cursor = setting == .fifo ? cursor : nil
    }

    // MARK: Properties of the rule

    /// Whether the order is strictly the order of adding.
    @inline(__always)
    var isStrict: Bool { cursor != nil }

    /// Whether a ready operation counts for more as time goes by.
    var isAging: Bool { agingSpan != nil && !isStrict }

    /// Whether groups take turns.
    var sharesFairly: Bool { hasGroups && !isStrict }

    /// Whether all ready operations are among the ``RescheduledOperations``.
    var reschedulesAll: Bool { isAging || sharesFairly }

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
        if setting == .lifo { key.number = -place }
        if isAging, let agingSpan, let time {
            key.step = time / agingSpan - Int64(lane)
        } else if sharesFairly {
            key.step = -Int64(lane)
        }
        return key
    }

    // MARK: The cursor of a strict order

    /// Moves the cursor to `place`; the operations before it are past.
    mutating func advance(to place: Int) { if isStrict { cursor = place } }

    /// Moves the cursor back to `place` if it is further on. The operation there is no longer past.
    @inline(never)
    mutating func moveBack(to place: Int) {
        if let cursor, place < cursor { advance(to: place) }
    }
}
