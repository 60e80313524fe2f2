/// The photos of a list with their present states, in row order.
///
/// All pages share one array of records. A table stores only what differs from it, so that a page
/// with a long list costs memory only for the rows that it has worked on.
public struct PhotoRecordTable: Sendable, RandomAccessCollection {
    private struct Change: Sendable {
        var state: PhotoState
        var version: PictureVersion
    }

    private var originals: [PhotoRecord]
    private let originalVersion: PictureVersion
    private var changes: [Int: Change] = [:]
    /// The rows without a photo.
    private(set) var emptyRows: Set<Int> = []

    /// - Parameter version: the version of all pictures at the beginning.
    init(_ records: [PhotoRecord], version: PictureVersion) {
        originals = records
        originalVersion = version
    }

    /// The index of the first row: 0.
    public var startIndex: Int { 0 }

    /// The number of rows.
    public var endIndex: Int { originals.count }

    /// The photo in a row, with its present state.
    public subscript(row: Int) -> PhotoRecord {
        guard let change = changes[row] else { return originals[row] }
        return originals[row].with(change.state)
    }

    /// The version of the picture in a row.
    func version(of row: Int) -> PictureVersion { changes[row]?.version ?? originalVersion }

    /// The number of photos in each state.
    ///
    /// - Complexity: O(n)
    var counts: PhotoStateCounts {
        var counts = PhotoStateCounts(of: self)
        for row in emptyRows { counts[self[row].state] -= 1 }
        return counts
    }

    /// Takes over another array of records, in which some rows have other photos than before.
    ///
    /// - Parameter version: the version of the pictures of these rows.
    mutating func replace(
        _ records: [PhotoRecord], changed rows: Set<Int>, empty emptyRows: Set<Int>,
        version: PictureVersion
    ) {
        originals = records
        self.emptyRows = emptyRows
        for row in rows { changes[row] = Change(state: records[row].state, version: version) }
    }

    /// Moves a photo to its next state.
    ///
    /// - Precondition: the present state allows the next state.
    mutating func set(_ row: Int, to state: PhotoState, version: PictureVersion) {
        var record = self[row]
        record.become(state)
        changes[row] = Change(state: state, version: version)
    }
}
