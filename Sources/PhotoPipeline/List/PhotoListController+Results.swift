// What the operations report. Operations that run go on during a scroll, so results may come in
// every phase; those of attempts that are no longer in progress change nothing.
extension PhotoListController {
    /// The picture of a row was downloaded and decoded; its filtration goes on in the same attempt.
    public mutating func rowDownloaded(_ row: Row, generation: Generation) -> [PhotoListAction] {
        // Late news: cancelled, evicted, or of a list that was replaced.
        guard let attempt = work[row], attempt.generation == generation else { return [] }
        switch attempt.stage {
        case .download:
            work[row] = PhotoWork(generation: generation, stage: .filtration)
            set(row, to: .downloaded)
            checkInvariants()
            return [show(row)]
        case .filtration:
            // Told twice; the picture is on show.
            return []
        }
    }

    /// The filtered picture of a row is there; the attempt is over.
    public mutating func rowFiltered(_ row: Row, generation: Generation) -> [PhotoListAction] {
        // Late news: cancelled, evicted, or of a list that was replaced.
        guard let attempt = work[row], attempt.generation == generation else { return [] }
        work[row] = nil
        switch attempt.stage {
        case .download:
            // Two queues report on their own, so that the end of the filtration can overtake the
            // end of the download. Who was filtered was downloaded.
            set(row, to: .downloaded)
        case .filtration:
            break
        }
        set(row, to: .filtered)
        checkInvariants()
        return [show(row)]
    }

    /// The attempt at a row failed.
    public mutating func rowFailed(
        _ row: Row, generation: Generation, _ failure: PhotoFailure
    ) -> [PhotoListAction] {
        // Late news: cancelled, evicted, or of a list that was replaced.
        guard isCurrent(row, generation) else { return [] }
        work[row] = nil
        set(row, to: .failed(failure))
        checkInvariants()
        return [show(row)]
    }

    /// The attempt at a row was cancelled by somebody else, as by a person who emptied a queue.
    ///
    /// The row keeps its state, and is started anew the next time the list settles on it or its
    /// viewport changes. At once would be wrong: whoever cancelled it meant it.
    public mutating func rowCancelled(_ row: Row, generation: Generation) -> [PhotoListAction] {
        // The usual case: the controller itself ordered it, and has forgotten the attempt.
        guard isCurrent(row, generation) else { return [] }
        work[row] = nil
        checkInvariants()
        return [show(row)]
    }
}
