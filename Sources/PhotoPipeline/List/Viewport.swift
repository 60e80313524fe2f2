/// The rows a person can see, as far as the list has them.
struct Viewport: Equatable {
    /// The visible rows that exist.
    let rows: Range<Row>

    /// Cuts what a page reported down to what exists, and to the limit.
    ///
    /// A page can report anything. Rows past the end of the list are dropped; of more rows than the
    /// limit, those nearest the middle stay, for that is where a person looks.
    init(reported: Range<Row>, rowCount: Int, limit: Int) {
        let existing = reported.clamped(to: Row(0)..<Row(rowCount))
        let surplus = max(0, existing.count - limit)
        let lower = existing.lowerBound.advanced(by: surplus / 2)
        self.rows = lower..<lower.advanced(by: existing.count - surplus)
    }

    /// Calls the body for each row, the one nearest the middle first.
    ///
    /// Of two rows equally near, the upper one comes first: lists are read downwards.
    func forEachFromTheMiddle(_ body: (Row) -> Void) {
        let half = rows.count / 2
        // An even number of rows has its middle between two of them.
        let middleCount = rows.count % 2
        if middleCount == 1 { body(rows.lowerBound.advanced(by: half)) }
        for step in 0..<half {
            body(rows.lowerBound.advanced(by: half - 1 - step))
            body(rows.lowerBound.advanced(by: half + middleCount + step))
        }
    }
}
