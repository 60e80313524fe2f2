/// Decides which photos are processed while a person scrolls through a list.
///
/// The full rule:
/// - While the list is settled, the rows in the viewport are processed, starting with the row
///   nearest the middle. A new photo is downloaded, decoded and filtered; a downloaded photo is
///   only filtered. A filtered photo needs no work, and a failed photo needs none until a person
///   retries it.
/// - From the first drag event on, the queues are suspended and no work starts. Viewport changes
///   are stored.
/// - When the list settles, work on rows outside the viewport is cancelled, then work on rows
///   inside is started, then the queues are resumed. Rows already in progress are left alone.
/// - A cancelled row starts again when it returns to the viewport, with a new ``Generation``.
///   Results of earlier generations change nothing.
///
/// The controller is pure: no locks, clocks, threads or callbacks. Each method handles one event
/// and returns the actions that the owner must perform, in that order, after releasing its lock.
/// The order of events must be preserved on the way to the queues: the owner performs all actions
/// of one event before those of the next.
///
/// The controller cannot be copied, because a copy would return every action twice.
///
/// - Complexity: each event takes time in the number of visible rows and rows in progress, never in
///   the length of the list. Only a change of the list itself reads the whole list, once. In debug
///   builds the controller checks itself after each event, which voids this promise for short
///   lists.
public struct PhotoListController: ~Copyable, Sendable {
    /// The state of the list on the page. The event methods define the transitions.
    enum Phase: Sendable, Hashable {
        /// The list is still, and work may start. Can transition to: `dragging`, `closed`.
        case settled
        /// A finger or the mouse moves the list. Can transition to: `decelerating`, `settled`,
        /// `closed`.
        case dragging
        /// The list moves by itself. Can transition to: `dragging`, `settled`, `closed`.
        case decelerating
        /// The page was closed; terminal.
        case closed
    }

    /// The photos, in row order.
    public internal(set) var records: PhotoRecordTable

    /// The number of photos in each state.
    public internal(set) var counts: PhotoStateCounts

    /// The attempts in progress, by row.
    public internal(set) var work: [Row: PhotoWork] = [:]

    /// Whether the list works as its first version did; see ``naiveModeChanged(to:)``.
    public internal(set) var isNaive = false

    /// The first row that naive mode has not reached.
    var nextNaiveRow = 0

    var phase: Phase = .settled
    var reportedRows = ReportedRows.range(Row(0)..<Row(0)) {
        didSet { findVisibleRows() }
    }
    var viewport = Viewport(reported: .rows([]), rowCount: 0, limit: 1)
    var latestGeneration = Generation(0)
    var latestVersion = PictureVersion(0)
    let visibleRowLimit: Int

    /// The maximum number of rows in progress that naive mode adds to. The order in which photos
    /// become ready is the same as without the limit, but a long list costs less memory.
    static let naiveRowLimit = 2_000

    /// Creates the controller of a page that has not reported a viewport yet.
    ///
    /// - Parameters:
    ///   - records: the list; empty while it is loading.
    ///   - visibleRowLimit: the maximum number of rows to process, whatever viewport a page
    ///     reports.
    public init(records: [PhotoRecord] = [], visibleRowLimit: Int = 500) {
        precondition(visibleRowLimit > 0, "The limit of visible rows must be at least 1.")
        self.records = PhotoRecordTable(records, version: latestVersion)
        self.counts = PhotoStateCounts(of: records)
        self.visibleRowLimit = visibleRowLimit
    }

    /// The visible rows, in the order in which they are shown; they are processed while the list is
    /// settled.
    public var visibleRows: [Row] { viewport.rows }

    /// Whether the list's queues should be suspended, because the list is being scrolled and is not
    /// in naive mode.
    public var isSuspended: Bool {
        switch phase {
        case .dragging, .decelerating: !isNaive
        case .settled, .closed: false
        }
    }

    /// Whether the page was closed; a closed controller ignores every event.
    public var isClosed: Bool { phase == .closed }

    /// The current state of a row, for a page that missed changes; `nil` if the row does not exist.
    public func currentState(of row: Row) -> PhotoRowChange? {
        guard records.indices.contains(row.index) else { return nil }
        let record = records[row.index]
        return PhotoRowChange(
            row: row, id: record.id, state: record.state, version: records.version(of: row.index))
    }

    /// Finds the visible rows after the report or the list has changed.
    mutating func findVisibleRows() {
        viewport = Viewport(
            reported: reportedRows, rowCount: records.count, limit: visibleRowLimit)
    }
}
