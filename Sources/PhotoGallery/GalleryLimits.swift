/// How much of a gallery's server its visitors may take up, and for how long.
///
/// Browsers stay far below these limits. A program that exceeds them has a fault or means harm.
public struct GalleryLimits: Sendable, Hashable {
    /// Connections at the same time: 256. Others wait until one is closed.
    public var connections = 256
    /// Pages at the same time: 64.
    public var pages = 64
    /// Streams of events at the same time: 128.
    public var streams = 128
    /// Streams of events of one page at the same time: 4. A page has one, and a second for a moment when it
    /// reconnects.
    public var streamsPerPage = 4
    /// The rows that a page may call visible: 256, more than any screen has. If a page names more, the rows
    /// in the middle count.
    public var visibleRows = 256
    /// How long a new connection may take until the head of its first request is there: 15 seconds.
    public var firstRequestTime: Duration = .seconds(15)
    /// How long a connection may take from the end of an answer to the head of the next request: 75 seconds.
    public var idleTime: Duration = .seconds(75)
    /// How long a request's body may take: 10 seconds.
    public var bodyTime: Duration = .seconds(10)
    /// How long a client may take to read a part of an answer, a picture or some events: 60 seconds.
    public var writeTime: Duration = .seconds(60)
    /// How long a client may keep its side of a connection open after the server has closed its own:
    /// 5 seconds.
    public var closeTime: Duration = .seconds(5)

    /// Makes the limits named above.
    public init() {}
}
