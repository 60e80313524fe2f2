/// The visible rows as a page reports them.
enum ReportedRows: Sendable, Hashable {
    /// A part of the list in its own order.
    case range(Range<Row>)
    /// Rows of a list that is shown in another order, or in part.
    case rows([Row])
}

/// The visible rows that exist in the list, in the order in which they are shown.
struct Viewport: Sendable, Equatable {
    /// The visible rows that exist; each of them once.
    let rows: [Row]
    /// The same rows without their order.
    let set: Set<Row>

    /// Reduces reported rows to existing rows, and to the limit.
    ///
    /// A page can report anything. Rows that are not in the list, and rows that were reported
    /// already, are dropped. If more rows than the limit remain, the rows nearest the middle stay,
    /// because people look there.
    ///
    /// - Complexity: O(limit) for a range, O(rows) for a list of rows.
    init(reported: ReportedRows, rowCount: Int, limit: Int) {
        let all = Row(0)..<Row(rowCount)
        switch reported {
        case .range(let range):
            let existing = range.clamped(to: all)
            let surplus = max(0, existing.count - limit)
            let lower = existing.lowerBound.advanced(by: surplus / 2)
            rows = Array(lower..<lower.advanced(by: existing.count - surplus))
            set = Set(rows)
        case .rows(let reported):
            var seen: Set<Row> = []
            let existing = reported.filter { all.contains($0) && seen.insert($0).inserted }
            let surplus = max(0, existing.count - limit)
            rows = Array(existing[(surplus / 2)..<(existing.count - (surplus + 1) / 2)])
            set = surplus == 0 ? seen : Set(rows)
        }
    }

    /// Calls the body for each row, starting with the row nearest the middle.
    ///
    /// Of two rows at the same distance, the upper row comes first, because lists are read
    /// downwards.
    func forEachFromTheMiddle(_ body: (Row) -> Void) {
        let half = rows.count / 2
        // The middle of an even number of rows is between two rows.
        let middleCount = rows.count % 2
        if middleCount == 1 { body(rows[half]) }
        for step in 0..<half {
            body(rows[half - 1 - step])
            body(rows[half + middleCount + step])
        }
    }
}
