// What a person does to the list.
extension PhotoListController {
    /// A finger or the mouse took hold of the list, or goes on dragging it.
    ///
    /// Pages may report it once or with each movement: only the first one suspends.
    public mutating func dragBegan() -> [PhotoListAction] {
        switch phase {
        case .settled:
            phase = .dragging
            checkInvariants()
            return [.suspendQueues]
        case .decelerating:
            // Caught in its flight: the queues are suspended already.
            phase = .dragging
            return []
        case .dragging:
            return []
        case .closed:
            // The page went while its message was on the way.
            return []
        }
    }

    /// The list was let go of; it rests, or moves on by itself.
    public mutating func dragEnded(willDecelerate: Bool) -> [PhotoListAction] {
        switch phase {
        case .dragging:
            guard willDecelerate else { return settle() }
            phase = .decelerating
            return []
        case .decelerating:
            // Told twice. If the second message says that it rests, believe it.
            return willDecelerate ? [] : settle()
        case .settled, .closed:
            // The drag's end was told by another message already, or the page is gone.
            return []
        }
    }

    /// The list came to rest by itself.
    public mutating func decelerationEnded() -> [PhotoListAction] {
        switch phase {
        case .decelerating:
            return settle()
        case .dragging:
            // Late news of an earlier flight: a hand has taken hold of the list since.
            return []
        case .settled, .closed:
            // It rests already, or the page is gone.
            return []
        }
    }

    /// Other rows are visible now: the list was scrolled, resized or jumped.
    ///
    /// - Parameter rows: what the page says it shows. It may lie beyond the end of the list, as
    ///   when the list is still being fetched, or be too many; see ``visibleRows``.
    public mutating func viewportChanged(to rows: Range<Row>) -> [PhotoListAction] {
        guard rows != reportedViewport else { return [] }
        switch phase {
        case .settled:
            reportedViewport = rows
            var actions: [PhotoListAction] = []
            attendToVisibleRows(addingTo: &actions)
            checkInvariants()
            return actions
        case .dragging, .decelerating:
            // Only remembered: what passes by during a scroll is not worth starting or cancelling.
            reportedViewport = rows
            return []
        case .closed:
            // The page went while its message was on the way.
            return []
        }
    }

    private mutating func settle() -> [PhotoListAction] {
        phase = .settled
        var actions: [PhotoListAction] = []
        attendToVisibleRows(addingTo: &actions)
        // Last: a queue resumed earlier would begin operations that are about to be cancelled.
        actions.append(.resumeQueues)
        checkInvariants()
        return actions
    }
}
