import PhotoPipeline

// Events that concern the contents of the list, and its end.
extension PhotoListController {
    /// A person asked to retry a failed photo.
    ///
    /// The photo becomes new and starts from the download: immediately if the list is settled and
    /// shows the row, otherwise the next time it does. The event is ignored for rows that do not
    /// exist, have not failed, or whose failure is not retryable: pages may send outdated or
    /// arbitrary requests.
    public mutating func retryRequested(_ row: Row) -> [PhotoListAction] {
        guard !isClosed, records.indices.contains(row.index) else { return [] }
        switch records[row.index].state {
        case .failed(let failure) where failure.isRetryable:
            return renew(row)
        case .failed, .new, .downloaded, .filtered:
            return []
        }
    }

    /// A person asked to retry all failed photos; those that no retry can help stay as they are.
    ///
    /// - Complexity: O(n) in the length of the list.
    public mutating func retryOfAllRequested() -> [PhotoListAction] {
        guard !isClosed, counts.failed > 0 else { return [] }
        return records.indices.flatMap { retryRequested(Row($0)) }
    }

    /// Photos were added, changed or deleted.
    ///
    /// All other rows keep their photos and what is in progress for them. The reported viewport and
    /// the phase stay, so that a list that arrives after its page starts immediately. A new photo
    /// whose row is visible starts immediately if the list is settled.
    ///
    /// - Complexity: O(n) in the length of the list.
    mutating func listChanged(
        to contents: PhotoCatalog.Contents, changed rows: Set<Int>
    ) -> [PhotoListAction] {
        guard !isClosed else { return [] }
        var actions: [PhotoListAction] = []
        let changed = rows.filter(records.indices.contains).sorted()
        for row in changed { cancel(Row(row), addingTo: &actions) }
        latestVersion = latestVersion.next
        records.replace(
            contents.records, changed: Set(changed), empty: contents.emptyRows,
            version: latestVersion)
        findVisibleRows()
        counts = records.counts
        for row in changed where !contents.emptyRows.contains(row) {
            actions.append(show(Row(row)))
        }
        startNaiveRows(addingTo: &actions)
        if phase == .settled { scheduleVisibleRows(addingTo: &actions) }
        checkInvariants()
        return actions
    }

    /// The page was closed; everything in progress is cancelled, and every later event is ignored.
    ///
    /// Suspended queues are resumed, so that their cancelled operations can leave.
    public mutating func pageClosed() -> [PhotoListAction] {
        guard !isClosed else { return [] }
        let wasSuspended = isSuspended
        phase = .closed
        var actions: [PhotoListAction] = []
        cancelAll(except: [], addingTo: &actions)
        if wasSuspended { actions.append(.resumeQueues) }
        checkInvariants()
        return actions
    }

    private mutating func renew(_ row: Row) -> [PhotoListAction] {
        var actions: [PhotoListAction] = []
        cancel(row, addingTo: &actions)
        set(row, to: .new)
        actions.append(show(row))
        startIfShown(row, addingTo: &actions)
        checkInvariants()
        return actions
    }
}
