// Events from the person who scrolls the list.
extension PhotoListController {
    /// A person started to drag the list, or continues to drag it.
    ///
    /// Pages may report the event once or with each movement; only the first event suspends the
    /// queues.
    public mutating func dragBegan() -> [PhotoListAction] {
        switch phase {
        case .settled:
            phase = .dragging
            checkInvariants()
            return isNaive ? [] : [.suspendQueues]
        case .decelerating:
            // The list was caught while decelerating, so the queues are already suspended.
            phase = .dragging
            return []
        case .dragging:
            return []
        case .closed:
            // The page was closed while its message was on the way.
            return []
        }
    }

    /// The person released the list; it settles, or continues to move by itself.
    public mutating func dragEnded(willDecelerate: Bool) -> [PhotoListAction] {
        switch phase {
        case .dragging:
            guard willDecelerate else { return settle() }
            phase = .decelerating
            return []
        case .decelerating:
            // A duplicate event. If it says that the list has settled, believe it.
            return willDecelerate ? [] : settle()
        case .settled, .closed:
            // Another message already ended the drag, or the page was closed.
            return []
        }
    }

    /// The visible rows changed: the list was scrolled, resized or moved by a jump.
    ///
    /// - Parameter rows: the visible rows as reported by the page. The range may extend beyond the
    ///   end of the list, for example while the list is still loading, or contain too many rows;
    ///   see ``visibleRows``.
    public mutating func viewportChanged(to rows: Range<Row>) -> [PhotoListAction] {
        visibleRowsChanged(to: .range(rows))
    }

    /// The visible rows changed in a page that shows the list in another order, or only a part of
    /// it.
    ///
    /// - Parameter rows: the visible rows in the order in which they are shown, as reported by the
    ///   page; see ``visibleRows``.
    public mutating func viewportChanged(to rows: [Row]) -> [PhotoListAction] {
        visibleRowsChanged(to: .rows(rows))
    }

    private mutating func visibleRowsChanged(to rows: ReportedRows) -> [PhotoListAction] {
        guard rows != reportedRows else { return [] }
        switch phase {
        case .settled:
            break
        case .dragging, .decelerating:
            // Only stored: rows that pass by during a scroll are not worth starting or cancelling.
            guard isNaive else {
                reportedRows = rows
                return []
            }
        case .closed:
            // The page was closed while its message was on the way.
            return []
        }
        reportedRows = rows
        var actions: [PhotoListAction] = []
        scheduleVisibleRows(addingTo: &actions)
        checkInvariants()
        return actions
    }

    /// A person wants to compare the list with its first version, or ends the comparison.
    ///
    /// In naive mode, all rows start in the order of the list, wherever the person looks. Nothing
    /// is suspended, and no work is cancelled because its row has left the screen. The end of naive
    /// mode cancels everything, and the visible rows start again.
    public mutating func naiveModeChanged(to isNaive: Bool) -> [PhotoListAction] {
        guard !isClosed, isNaive != self.isNaive else { return [] }
        let wasSuspended = isSuspended
        self.isNaive = isNaive
        var actions: [PhotoListAction] = []
        if !wasSuspended, isSuspended { actions.append(.suspendQueues) }
        if isNaive {
            nextNaiveRow = 0
            startNaiveRows(addingTo: &actions)
        } else {
            cancelAll(except: [], addingTo: &actions)
            if !isSuspended { scheduleVisibleRows(addingTo: &actions) }
        }
        if wasSuspended, !isSuspended { actions.append(.resumeQueues) }
        checkInvariants()
        return actions
    }

    private mutating func settle() -> [PhotoListAction] {
        phase = .settled
        var actions: [PhotoListAction] = []
        scheduleVisibleRows(addingTo: &actions)
        // Resume last: a queue resumed earlier would start operations that are about to be
        // cancelled.
        actions.append(.resumeQueues)
        checkInvariants()
        return actions
    }
}
