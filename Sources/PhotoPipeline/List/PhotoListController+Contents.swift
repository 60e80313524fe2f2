// What happens to the list's contents, and its end.
extension PhotoListController {
    /// Somebody wants a failed photo to be tried again.
    ///
    /// It becomes new and is started from the download: at once if the list rests and shows it,
    /// otherwise when it next does. Ignored for rows that have not failed, that do not exist, or
    /// whose failure is not retryable: pages ask late, and ask for anything.
    public mutating func retryRequested(_ row: Row) -> [PhotoListAction] {
        guard !isClosed, records.indices.contains(row.index) else { return [] }
        switch records[row.index].state {
        case .failed(let failure) where failure.isRetryable:
            return renew(row)
        case .failed, .new, .downloaded, .filtered:
            return []
        }
    }

    /// The pictures of a photo were dropped from memory.
    ///
    /// It becomes new. If it was being filtered that attempt is cancelled, because one that starts
    /// later could not find its picture. A visible row of a resting list starts again at once:
    /// evict what is off the screen first.
    public mutating func rowEvicted(_ row: Row) -> [PhotoListAction] {
        guard !isClosed, records.indices.contains(row.index) else { return [] }
        switch records[row.index].state {
        case .downloaded, .filtered:
            return renew(row)
        case .new, .failed:
            // It had no picture: evicted twice, or failed since.
            return []
        }
    }

    /// Another list takes the place of this one: everything in progress is cancelled.
    ///
    /// The viewport stays as reported, so that a list that arrives after its page is started at
    /// once, and so does the phase.
    ///
    /// - Complexity: O(n) in the lengths of both lists.
    public mutating func listReplaced(with records: [PhotoRecord]) -> [PhotoListAction] {
        guard !isClosed else { return [] }
        var actions: [PhotoListAction] = []
        cancelAll(except: Row(0)..<Row(0), addingTo: &actions)
        self.records = records
        counts = PhotoStateCounts(of: records)
        latestVersion = latestVersion.next
        versions = Array(repeating: latestVersion, count: records.count)
        if phase == .settled { attendToVisibleRows(addingTo: &actions) }
        checkInvariants()
        return actions
    }

    /// The page is gone: everything in progress is cancelled, and every later event is ignored.
    ///
    /// Queues that were suspended are resumed, so that their cancelled operations can leave.
    public mutating func pageClosed() -> [PhotoListAction] {
        guard !isClosed else { return [] }
        let wasSuspended = isSuspended
        phase = .closed
        var actions: [PhotoListAction] = []
        cancelAll(except: Row(0)..<Row(0), addingTo: &actions)
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
