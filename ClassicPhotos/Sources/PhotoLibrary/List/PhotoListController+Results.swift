public import PhotoPipeline

// Events from operations. Running operations continue during a scroll, so results may arrive in
// every phase. Results of attempts that are no longer in progress change nothing.
extension PhotoListController {
    /// The picture of a row was downloaded and decoded; the same attempt continues with the
    /// filtration.
    public mutating func rowDownloaded(_ row: Row, generation: Generation) -> [PhotoListAction] {
        // Outdated: the attempt was cancelled, or its photo was replaced.
        guard let attempt = work[row], attempt.generation == generation else { return [] }
        switch attempt.stage {
        case .download:
            work[row] = PhotoWork(generation: generation, stage: .filtration)
            set(row, to: .downloaded)
            checkInvariants()
            return [show(row)]
        case .filtration:
            // A duplicate event; the picture is already shown.
            return []
        }
    }

    /// The filtered picture of a row is ready; the attempt is over.
    public mutating func rowFiltered(_ row: Row, generation: Generation) -> [PhotoListAction] {
        // Outdated: the attempt was cancelled, or its photo was replaced.
        guard let attempt = work[row], attempt.generation == generation else { return [] }
        work[row] = nil
        switch attempt.stage {
        case .download:
            // The two queues report independently, so the end of the filtration can overtake the
            // end of the download. A filtered photo was downloaded.
            set(row, to: .downloaded)
        case .filtration:
            break
        }
        set(row, to: .filtered)
        return shownAndNext(row)
    }

    /// The attempt at a row failed.
    public mutating func rowFailed(
        _ row: Row, generation: Generation, _ failure: PhotoFailure
    ) -> [PhotoListAction] {
        // Outdated: the attempt was cancelled, or its photo was replaced.
        guard isCurrent(row, generation) else { return [] }
        work[row] = nil
        set(row, to: .failed(failure))
        return shownAndNext(row)
    }

    /// Shows a row whose attempt is over; in naive mode, another row may start.
    private mutating func shownAndNext(_ row: Row) -> [PhotoListAction] {
        var actions = [show(row)]
        startNaiveRows(addingTo: &actions)
        checkInvariants()
        return actions
    }

    /// The attempt at a row was cancelled from outside, for example by a person who emptied a
    /// queue.
    ///
    /// The row keeps its state and starts again the next time the list settles on it or its
    /// viewport changes. An immediate restart would undo the cancellation.
    public mutating func rowCancelled(_ row: Row, generation: Generation) -> [PhotoListAction] {
        // The usual case: the controller itself requested the cancellation and has forgotten the
        // attempt.
        guard isCurrent(row, generation) else { return [] }
        work[row] = nil
        checkInvariants()
        return [show(row)]
    }
}
