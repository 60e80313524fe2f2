/// Decides what is worked on while a person scrolls through a list of photos.
///
/// The rule, in full:
/// - While the list is settled, the rows in the viewport are worked on, the one nearest the middle
///   first. A new photo is downloaded, decoded and filtered; one that has been downloaded is only
///   filtered; a filtered one needs nothing, a failed one nothing until somebody retries.
/// - From the first drag event on, the queues are suspended and nothing is started. The viewport's
///   changes are remembered.
/// - When the list settles, the work on rows outside the viewport is cancelled, then that on rows
///   inside is started, then the queues are resumed. A row that is being worked on already is left
///   alone.
/// - A row whose work was cancelled is started anew when it returns, with a new ``Generation``;
///   results of older generations change nothing.
///
/// Pure: no locks, no clocks, no threads, no callbacks. Each method is one event; the actions it
/// returns are what the owner must do, in that order, after releasing its lock. Two events must not
/// overtake each other between the controller and the queues: the owner performs the actions of one
/// before it performs those of the next.
///
/// It cannot be copied, since a copy would give every order twice.
///
/// - Complexity: each event costs time in the number of visible rows and of rows in progress, never
///   in the length of the list; ``listReplaced(with:)`` alone reads the list once. In debug builds
///   the controller checks itself after each event, which voids this for short lists.
public struct PhotoListController: ~Copyable, Sendable {
    /// What the list on the page is doing. Which transitions exist is in the event methods.
    enum Phase: Sendable, Hashable {
        /// It rests; work is started. Can transition to: `dragging`, `closed`.
        case settled
        /// A finger or the mouse moves it. Can transition to: `decelerating`, `settled`, `closed`.
        case dragging
        /// It moves by itself. Can transition to: `dragging`, `settled`, `closed`.
        case decelerating
        /// The page is gone; terminal.
        case closed
    }

    /// The photos, in the order of the rows.
    public internal(set) var records: [PhotoRecord]

    /// How many photos are in each state.
    public internal(set) var counts: PhotoStateCounts

    /// The attempts that were started and have neither ended nor been cancelled, by row.
    public internal(set) var work: [Row: PhotoWork] = [:]

    var phase: Phase = .settled
    var reportedViewport: Range<Row> = Row(0)..<Row(0)
    var latestGeneration = Generation(0)
    var latestVersion = PictureVersion(0)
    var versions: [PictureVersion]
    let visibleRowLimit: Int

    /// Makes the controller of a page that has not reported a viewport yet.
    ///
    /// - Parameters:
    ///   - records: the list; empty if it is still being fetched.
    ///   - visibleRowLimit: how many rows are worked on at most, whatever viewport a page reports.
    public init(records: [PhotoRecord] = [], visibleRowLimit: Int = 500) {
        precondition(visibleRowLimit > 0, "A list of which no row may be visible shows nothing.")
        self.records = records
        self.counts = PhotoStateCounts(of: records)
        self.versions = Array(repeating: latestVersion, count: records.count)
        self.visibleRowLimit = visibleRowLimit
    }

    /// The rows that are worked on while the list is settled: those a person sees.
    public var visibleRows: Range<Row> { viewport.rows }

    /// Whether the list's queues are to be suspended, for it is being scrolled.
    public var isSuspended: Bool {
        switch phase {
        case .dragging, .decelerating: true
        case .settled, .closed: false
        }
    }

    /// Whether the page was closed, after which every event is ignored.
    public var isClosed: Bool { phase == .closed }

    /// How a row looks now, for a page that missed the news; `nil` if there is no such row.
    public func currentLook(of row: Row) -> PhotoRowChange? {
        guard records.indices.contains(row.index) else { return nil }
        let record = records[row.index]
        return PhotoRowChange(
            row: row, id: record.id, state: record.state, version: versions[row.index])
    }

    var viewport: Viewport {
        Viewport(reported: reportedViewport, rowCount: records.count, limit: visibleRowLimit)
    }
}
