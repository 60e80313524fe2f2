import FoundationEssentials
import NIOCore
import PhotoPipeline

/// Several server-sent events that are sent together.
struct EventMessage {
    private(set) var buffer = ByteBuffer()

    var isEmpty: Bool { buffer.readableBytes == 0 }

    /// The state of the list as a whole on a page; sent again only when it changes.
    struct Summary: Equatable {
        let counts: PhotoStateCounts
        let queues: [QueueGauge]
    }

    /// Adds the first event of every stream.
    mutating func addHello(total: Int) throws {
        try add("hello", ["total": total])
    }

    /// Adds the changes in `news` and returns the resulting state of the page.
    mutating func add(_ news: PhotoListSession.News, since told: Summary?) throws -> Summary {
        for row in news.rows { try add("row", RowEvent(row)) }
        if news.counts != told?.counts { try add("counts", CountsEvent(news.counts)) }
        if news.queues != told?.queues {
            try add("queues", ["queues": news.queues.map(QueueEvent.init)])
        }
        return Summary(counts: news.counts, queues: news.queues)
    }

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
        let reason: String?
        let active: Bool

        init(_ news: PhotoListSession.RowNews) {
            row = news.change.row.index
            version = news.change.version.number
            active = news.isActive
            switch news.change.state {
            case .new: state = "new"
            case .downloaded: state = "downloaded"
            case .filtered: state = "filtered"
            case .failed: state = "failed"
            }
            reason = news.change.state.failure?.reason
        }
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

    private struct QueueEvent: Encodable {
        let name: String
        let waiting: Int
        let running: Int
        let finished: Int
        let cancelled: Int
        let suspended: Bool
        let width: Int

        init(_ gauge: QueueGauge) {
            name = gauge.name
            waiting = gauge.waiting
            running = gauge.running
            finished = gauge.finished
            cancelled = gauge.cancelled
            suspended = gauge.isSuspended
            width = gauge.width ?? 0
        }
    }
}
