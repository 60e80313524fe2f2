/// What the owner of a ``PhotoListController`` must do next, in the order given.
public enum PhotoListAction: Sendable, Hashable {
    /// Suspend the list's queues: what runs goes on, nothing else begins.
    case suspendQueues

    /// Cancel the operations of that attempt at the row, and forget them.
    case cancel(Row, generation: Generation)

    /// Create operations for the row, from that stage on, and add them to the queues.
    case start(Row, generation: Generation, from: PhotoWorkStage, record: PhotoRecord)

    /// Resume the list's queues.
    case resumeQueues

    /// Tell the page how the row looks now.
    case show(PhotoRowChange)
}

/// Where the work on a row begins, or has arrived.
public enum PhotoWorkStage: Sendable, Hashable, CaseIterable {
    /// Download, decode and filter, as a chain.
    case download
    /// Filter only: the picture is there already.
    case filtration
}

/// The work in progress for one row.
public struct PhotoWork: Sendable, Hashable {
    /// Which attempt it is.
    public let generation: Generation
    /// How far it is.
    public let stage: PhotoWorkStage
}

/// What a page needs in order to draw one row anew.
public struct PhotoRowChange: Sendable, Hashable {
    /// Which row.
    public let row: Row
    /// Which photo is in it: a page that shows another one there drops the message.
    public let id: PhotoID
    /// How far the photo is, and why it failed if it did.
    public let state: PhotoState
    /// Which picture it is; greater than in all earlier messages if the picture is another one.
    public let version: PictureVersion
}
