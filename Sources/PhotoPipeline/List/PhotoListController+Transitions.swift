// The places where the controller's tables change. Everything that counts, traces or checks hangs
// here, because no event touches the tables by another way.
extension PhotoListController {
    /// The one funnel through which a photo's state changes: counters and versions follow.
    mutating func set(_ row: Row, to state: PhotoState) {
        counts[records[row.index].state] -= 1
        records[row.index].become(state)
        counts[state] += 1
        latestVersion = latestVersion.next
        versions[row.index] = latestVersion
    }

    /// The order to show a row as it is.
    func show(_ row: Row) -> PhotoListAction {
        guard let look = currentLook(of: row) else {
            preconditionFailure("There is no \(row) to show in a list of \(records.count).")
        }
        return .show(look)
    }

    /// Begins an attempt at a row, unless there is one or nothing is left to do.
    mutating func start(_ row: Row, addingTo actions: inout [PhotoListAction]) {
        guard work[row] == nil else { return }
        let record = records[row.index]
        let stage: PhotoWorkStage
        switch record.state {
        case .new: stage = .download
        case .downloaded: stage = .filtration
        case .filtered, .failed: return
        }
        latestGeneration = latestGeneration.next
        work[row] = PhotoWork(generation: latestGeneration, stage: stage)
        actions.append(
            .start(row, generation: latestGeneration, from: stage, record: record))
    }

    /// Begins an attempt at a row whose state just changed, if the list rests and shows it.
    mutating func startIfShown(_ row: Row, addingTo actions: inout [PhotoListAction]) {
        guard phase == .settled, visibleRows.contains(row) else { return }
        start(row, addingTo: &actions)
    }

    /// Ends the attempt at a row before its time.
    mutating func cancel(_ row: Row, addingTo actions: inout [PhotoListAction]) {
        guard let ended = work.removeValue(forKey: row) else { return }
        actions.append(.cancel(row, generation: ended.generation))
    }

    /// Cancels the attempts at all rows but the given ones, from the top of the list down.
    mutating func cancelAll(except kept: Range<Row>, addingTo actions: inout [PhotoListAction]) {
        // A dictionary's order differs between runs of the program; orders given must not.
        for row in work.keys.filter({ !kept.contains($0) }).sorted() {
            cancel(row, addingTo: &actions)
        }
    }

    /// Cancels what is off the screen, then starts what is on it.
    mutating func attendToVisibleRows(addingTo actions: inout [PhotoListAction]) {
        let viewport = viewport
        cancelAll(except: viewport.rows, addingTo: &actions)
        viewport.forEachFromTheMiddle { row in start(row, addingTo: &actions) }
    }

    /// Whether the attempt is the one in progress for that row, so that its result counts.
    func isCurrent(_ row: Row, _ generation: Generation) -> Bool {
        work[row]?.generation == generation
    }
}
