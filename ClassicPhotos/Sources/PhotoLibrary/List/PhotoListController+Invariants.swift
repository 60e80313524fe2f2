extension PhotoListController {
    /// Checks, in debug builds, that the tables are consistent.
    ///
    /// Counting a long list after each event would break the controller's complexity promise. For
    /// lists of more than a thousand rows, only the rows in progress are checked.
    func checkInvariants() {
        #if DEBUG
        _checkInvariants(countingRecords: records.count <= 1_000)
        #endif
    }

    /// Checks that the tables are consistent; otherwise traps with a message.
    func _checkInvariants(countingRecords: Bool) {
        precondition(
            counts.total == records.count - records.emptyRows.count,
            "Every photo is counted once.")
        if countingRecords {
            precondition(counts == records.counts, "The counters are exact.")
        }
        precondition(!isClosed || work.isEmpty, "Nothing is in progress for a closed page.")
        for (row, attempt) in work {
            precondition(
                records.indices.contains(row.index) && !records.emptyRows.contains(row.index),
                "Work is in progress for a row that exists.")
            precondition(
                attempt.generation <= latestGeneration,
                "No generation is greater than the latest one.")
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
