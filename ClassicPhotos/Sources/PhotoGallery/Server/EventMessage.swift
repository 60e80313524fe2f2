import NIOCore
import PhotoImaging
import PhotoLibrary
import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Several server-sent events that are sent together.
struct EventMessage {
    private(set) var buffer = ByteBuffer()

    var isEmpty: Bool { buffer.readableBytes == 0 }

    /// The state of the list as a whole on a page; sent again only when it changes.
    struct Summary: Equatable {
        let counts: PhotoStateCounts
        let queues: [QueueGauge]
        let list: PhotoListSession.ListSummary
    }

    /// The list as a whole.
    private struct ListEvent: Encodable {
        /// The number of photos.
        let total: Int
        /// Changes whenever photos are added, changed or deleted.
        let revision: Int
        /// Whether the photos are shown in the order of their rows; otherwise the page asks for the
        /// order.
        let inRowOrder: Bool
        /// In the first event, whether the following events contain only what the page has missed.
        var resumed: Bool?

        init(_ list: PhotoListSession.ListSummary, isResumed: Bool? = nil) {
            (total, revision, inRowOrder) = (list.count, list.revision, list.isInRowOrder)
            resumed = isResumed
        }
    }

    /// Adds the first event of every stream.
    mutating func addHello(_ list: PhotoListSession.ListSummary, isResumed: Bool) throws {
        try add("hello", ListEvent(list, isResumed: isResumed))
    }

    /// Adds the identifier of the state that the page has when it has received this message.
    ///
    /// A block without data is no event, but browsers remember its identifier. At the end of the
    /// message, it confirms all rows of the message.
    mutating func addID(_ id: EventID) { buffer.writeString("id: \(id.text)\n\n") }

    /// Adds the changes in an update and returns the resulting state of the page.
    ///
    /// - Parameter sent: the state that the page has received; nil for a new page.
    mutating func add(_ update: PhotoListSession.Update, since sent: Summary?) throws -> Summary {
        // New photos may have rows that the page does not know.
        if let sent, update.list != sent.list { try add("list", ListEvent(update.list)) }
        for row in update.rows { try add("row", RowEvent(row)) }
        for progress in update.progress { try add("progress", ProgressEvent(progress)) }
        if update.counts != sent?.counts { try add("counts", CountsEvent(update.counts)) }
        if update.queues != sent?.queues {
            try add("queues", ["queues": update.queues.map(QueueEvent.init)])
        }
        return Summary(counts: update.counts, queues: update.queues, list: update.list)
    }

    /// Adds the state of the machinery.
    mutating func add(_ event: EngineFeed.Event) throws { try add("engine", event) }

    /// Adds a comment, which browsers ignore.
    mutating func addHeartbeat() {
        buffer.writeString(":\n\n")
    }

    /// Encoded JSON has no line breaks, so one line of data is enough.
    private mutating func add(_ event: String, _ value: some Encodable) throws {
        buffer.writeString("event: \(event)\ndata: ")
        buffer.writeBytes(try JSONEncoder().encode(value))
        buffer.writeString("\n\n")
    }

    private struct RowEvent: Encodable {
        let row: Int
        let state: String
        let version: UInt64
        /// The name of the picture in `/api/thumbnails/row/picture`; absent unless the photo is
        /// downloaded or filtered.
        let picture: String?
        /// The reason of a failure as an English sentence, and as a code with its values.
        let reason: String?
        let failure: FailureCause?
        /// Whether a retry may help; absent unless the photo has failed.
        let retryable: Bool?
        /// Whether the original can be saved although it cannot be shown; absent unless the photo
        /// has failed.
        let hasOriginal: Bool?
        let active: Bool
        /// What is wrong with a damaged photo, of which a part is shown; absent for a sound one.
        let damage: String?
        let color: String?
        let width: Int?
        let height: Int?
        /// The title that a person gave the photo; absent without one.
        let title: String?

        init(_ update: PhotoListSession.RowUpdate) {
            row = update.change.row.index
            version = update.change.version.number
            active = update.isActive
            picture = update.picture?.description
            switch update.change.state {
            case .new: state = "new"
            case .downloaded: state = "downloaded"
            case .filtered: state = "filtered"
            case .failed: state = "failed"
            }
            let failure = update.change.state.failure
            reason = failure?.reasonWithFlag.onOneLine
            self.failure = failure?.cause.map(FailureCause.init)
            retryable = failure?.isRetryable
            hasOriginal = failure?.hasOriginal
            damage = update.facts?.damage?.onOneLine
            color = update.facts?.color.map(EventMessage.text)
            width = update.facts?.size?.width
            height = update.facts?.size?.height
            title = update.facts?.title?.onOneLine
        }
    }

    /// The progress of a row's download, until the next event of the row.
    private struct ProgressEvent: Encodable {
        let row: Int
        /// The number of bytes so far.
        let received: Int
        /// The size of the file in bytes; absent if the server did not announce it.
        let total: Int?

        init(_ update: RowProgress) {
            row = update.row.index
            received = update.progress.received
            total = update.progress.total
        }
    }

    /// A color as in CSS: `#rrggbb`.
    static func text(ofColor color: UInt32) -> String {
        let digits = String(color & 0xFFFFFF, radix: 16)
        return "#" + String(repeating: "0", count: 6 - digits.count) + digits
    }

    private struct CountsEvent: Encodable {
        let new: Int
        let downloaded: Int
        let filtered: Int
        let failed: Int

        init(_ counts: PhotoStateCounts) {
            new = counts.new
            downloaded = counts.downloaded
            filtered = counts.filtered
            failed = counts.failed
        }
    }

    /// The state of a queue.
    struct QueueEvent: Encodable {
        let name: String
        let waiting: Int
        let running: Int
        let finished: Int
        let failed: Int
        let cancelled: Int
        let suspended: Bool
        let width: Int

        init(_ gauge: QueueGauge) {
            name = gauge.name
            waiting = gauge.waiting
            running = gauge.running
            finished = gauge.finished
            failed = gauge.failed
            cancelled = gauge.cancelled
            suspended = gauge.isSuspended
            width = gauge.width ?? 0
        }
    }
}
