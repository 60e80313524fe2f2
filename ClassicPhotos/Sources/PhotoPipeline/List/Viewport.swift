/// The visible rows that exist in the list.
struct Viewport: Equatable {
    /// The visible rows that exist.
    let rows: Range<Row>

    /// Reduces a reported range to existing rows, and to the limit.
    ///
    /// A page can report anything. Rows past the end of the list are dropped. If more rows than the
    /// limit remain, the rows nearest the middle stay, because people look there.
    init(reported: Range<Row>, rowCount: Int, limit: Int) {
        let existing = reported.clamped(to: Row(0)..<Row(rowCount))
        let surplus = max(0, existing.count - limit)
        let lower = existing.lowerBound.advanced(by: surplus / 2)
        self.rows = lower..<lower.advanced(by: existing.count - surplus)
    }

    /// Calls the body for each row, starting with the row nearest the middle.
    ///
    /// Of two rows at the same distance, the upper row comes first, because lists are read
    /// downwards.
    func forEachFromTheMiddle(_ body: (Row) -> Void) {
        let half = rows.count / 2
        // The middle of an even number of rows is between two rows.
        let middleCount = rows.count % 2
        if middleCount == 1 { body(rows.lowerBound.advanced(by: half)) }
        for step in 0..<half {
            body(rows.lowerBound.advanced(by: half - 1 - step))
            body(rows.lowerBound.advanced(by: half + middleCount + step))
        }
    }
}
