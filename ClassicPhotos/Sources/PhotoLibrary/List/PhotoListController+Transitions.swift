// All changes of the controller's tables. Events change the tables only through these methods, so
// counters, traces and checks belong here.
extension PhotoListController {
    /// Changes a photo's state and updates counters and versions; the only place that does so.
    mutating func set(_ row: Row, to state: PhotoState) {
        counts[records[row.index].state] -= 1
        latestVersion = latestVersion.next
        records.set(row.index, to: state, version: latestVersion)
        counts[state] += 1
    }

    /// The action that shows a row in its current state.
    func show(_ row: Row) -> PhotoListAction {
        guard let change = currentState(of: row) else {
            preconditionFailure("There is no \(row) to show in a list of \(records.count).")
        }
        return .show(change)
    }

    /// Starts an attempt at a row, unless an attempt is in progress or no work is left.
    mutating func start(_ row: Row, addingTo actions: inout [PhotoListAction]) {
        guard work[row] == nil, !records.emptyRows.contains(row.index) else { return }
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

    /// Starts an attempt at a row whose state just changed, if the list is settled and shows the
    /// row.
    mutating func startIfShown(_ row: Row, addingTo actions: inout [PhotoListAction]) {
        guard phase == .settled, viewport.set.contains(row) else { return }
        start(row, addingTo: &actions)
    }

    /// Cancels the attempt at a row.
    mutating func cancel(_ row: Row, addingTo actions: inout [PhotoListAction]) {
        guard let ended = work.removeValue(forKey: row) else { return }
        actions.append(.cancel(row, generation: ended.generation))
    }

    /// Cancels the attempts at all rows except the given ones, from the top of the list down.
    mutating func cancelAll(except kept: Set<Row>, addingTo actions: inout [PhotoListAction]) {
        // The order of a dictionary differs between runs of the program; the order of actions must
        // not.
        for row in work.keys.filter({ !kept.contains($0) }).sorted() {
            cancel(row, addingTo: &actions)
        }
    }

    /// Cancels the work on invisible rows, then starts the work on visible rows.
    mutating func scheduleVisibleRows(addingTo actions: inout [PhotoListAction]) {
        let viewport = viewport
        if isNaive {
            // Only rows whose work was cancelled by a person; all others have their turn.
            for row in viewport.rows where row.index < nextNaiveRow {
                start(row, addingTo: &actions)
            }
            return
        }
        cancelAll(except: viewport.set, addingTo: &actions)
        viewport.forEachFromTheMiddle { row in start(row, addingTo: &actions) }
    }

    /// In naive mode, starts the next rows of the list, up to the limit of rows in progress.
    mutating func startNaiveRows(addingTo actions: inout [PhotoListAction]) {
        guard isNaive else { return }
        while nextNaiveRow < records.count, work.count < Self.naiveRowLimit {
            start(Row(nextNaiveRow), addingTo: &actions)
            nextNaiveRow += 1
        }
    }

    /// Whether the attempt is in progress for the row, so that its result counts.
    func isCurrent(_ row: Row, _ generation: Generation) -> Bool {
        work[row]?.generation == generation
    }
}
