/// An action that the owner of a ``PhotoListController`` must perform next, in the given order.
public enum PhotoListAction: Sendable, Hashable {
    /// Suspend the list's queues: running operations continue, no others start.
    case suspendQueues

    /// Cancel the operations of the given attempt at the row, and forget them.
    case cancel(Row, generation: Generation)

    /// Create operations for the row, from the given stage on, and add them to the queues.
    case start(Row, generation: Generation, from: PhotoWorkStage, record: PhotoRecord)

    /// Resume the list's queues.
    case resumeQueues

    /// Notify the page of the row's new state.
    case show(PhotoRowChange)
}

/// The stage at which the work on a row starts, or that it has reached.
public enum PhotoWorkStage: Sendable, Hashable, CaseIterable {
    /// Download, decode and filter, as a chain.
    case download
    /// Filter only: the picture has been downloaded.
    case filtration
}

/// The work in progress for one row.
public struct PhotoWork: Sendable, Hashable {
    /// The number of the attempt.
    public let generation: Generation
    /// The stage that the attempt has reached.
    public let stage: PhotoWorkStage
}

/// The data that a page needs to redraw one row.
public struct PhotoRowChange: Sendable, Hashable {
    /// The row that changed.
    public let row: Row
    /// The photo in the row; a page that shows a different photo there ignores the message.
    public let id: PhotoID
    /// The state of the photo, with the reason of a failure.
    public let state: PhotoState
    /// The version of the picture; a different picture has a greater version than all earlier
    /// messages.
    public let version: PictureVersion
}
