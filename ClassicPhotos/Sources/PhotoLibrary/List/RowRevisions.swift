/// The revision in which each row changed last, so that a page that returns gets only what it has
/// missed.
///
/// Rows that have never changed cost nothing.
struct RowRevisions: Sendable {
    /// The number of the latest revision; 0 before the first change.
    private(set) var latest = 0
    private var revisions: [Row: Int] = [:]

    /// Makes a new revision, in which the given rows have changed; does nothing without rows.
    mutating func note(_ rows: Set<Row>) {
        guard !rows.isEmpty else { return }
        latest += 1
        for row in rows { revisions[row] = latest }
    }

    /// The rows that have changed after a revision, in order; nil if there is no such revision.
    ///
    /// - Complexity: O(n log n) in the number of rows that have ever changed.
    func rows(since revision: Int) -> [Row]? {
        guard (0...latest).contains(revision) else { return nil }
        return revisions.filter { $0.value > revision }.keys.sorted()
    }
}
