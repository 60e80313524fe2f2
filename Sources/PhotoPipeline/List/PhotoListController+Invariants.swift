extension PhotoListController {
    /// Checks, in debug builds, that the tables agree with each other.
    ///
    /// Counting a long list after each event would turn the controller's promise about its cost
    /// around, so that lists beyond a thousand rows are only checked in what they work on.
    func checkInvariants() {
        #if DEBUG
        _checkInvariants(countingRecords: records.count <= 1_000)
        #endif
    }

    /// Checks that the tables agree with each other, and traps with a sentence if they do not.
    func _checkInvariants(countingRecords: Bool) {
        precondition(
            versions.count == records.count, "Every row has one version, and there are no others.")
        precondition(counts.total == records.count, "Every photo is counted once.")
        if countingRecords {
            precondition(counts == PhotoStateCounts(of: records), "The counters are exact.")
        }
        precondition(!isClosed || work.isEmpty, "Nothing is in progress for a closed page.")
        for (row, attempt) in work {
            precondition(
                records.indices.contains(row.index), "Work is in progress for a row that exists.")
            precondition(
                attempt.generation <= latestGeneration, "No generation comes from the future.")
            switch (records[row.index].state, attempt.stage) {
            case (.new, .download), (.downloaded, .filtration):
                break
            case (.new, .filtration), (.downloaded, .download), (.filtered, _), (.failed, _):
                preconditionFailure(
                    "\(row) is \(records[row.index].state) while its \(attempt.stage) runs.")
            }
        }
    }
}
