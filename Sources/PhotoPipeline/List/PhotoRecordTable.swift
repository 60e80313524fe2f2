#if PhotoPipeline
/// The photos of a list with their present states, in row order.
///
/// All pages share one array of records. A table stores only what differs from it, so that a page
/// with a long list costs memory only for the rows that it has worked on.
public struct PhotoRecordTable: Sendable, RandomAccessCollection {
    private struct Change: Sendable {
        var state: PhotoState
        var version: PictureVersion
    }

    private let originals: [PhotoRecord]
    private let originalVersion: PictureVersion
    private var changes: [Int: Change] = [:]

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

    /// Moves a photo to its next state.
    ///
    /// - Precondition: the present state allows the next state.
    mutating func set(_ row: Int, to state: PhotoState, version: PictureVersion) {
        var record = self[row]
        record.become(state)
        changes[row] = Change(state: state, version: version)
    }
}
#endif
