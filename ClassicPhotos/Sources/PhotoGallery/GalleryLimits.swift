/// Limits on the resources that clients of a gallery's server may use, and for how long.
///
/// Browsers stay far below these limits. A program that exceeds them is faulty or malicious.
public struct GalleryLimits: Sendable, Hashable {
    /// The maximum number of simultaneous connections: 1,024. Further connections wait until one is
    /// closed.
    public var connections = 1_024
    /// The maximum number of simultaneous connections of one client to a server that other machines
    /// can reach: 128. Further connections are closed at once.
    ///
    /// A client is an IPv4 address, or the first 64 bits of an IPv6 address. A browser has at most
    /// 6 connections, and clients behind one router may share an address.
    public var connectionsPerClient = 128
    /// The maximum number of simultaneous pages, including those that may return: 256. A page costs
    /// about 100 kB; all pages share the memory for pictures.
    public var pages = 256
    /// The time from the end of a page's last event stream until the page's work is cancelled: half
    /// a second. A page that reconnects or reloads is faster.
    public var leavingTime: Duration = .milliseconds(500)
    /// The time from the end of a page's last event stream until the server forgets the page: 10
    /// seconds. A page whose connection broke and that returns before that keeps its pictures.
    public var returnTime: Duration = .seconds(10)
    /// The maximum number of simultaneous event streams: 512.
    public var streams = 512
    /// The maximum number of simultaneous event streams of one page: 4.
    ///
    /// A page has one stream, and briefly a second one when it reconnects.
    public var streamsPerPage = 4
    /// The maximum number of visible rows that a page may report: 256, more than fit on any screen.
    ///
    /// If a page reports more rows, the rows in the middle count.
    public var visibleRows = 256
    /// The maximum time from a new connection to the head of its first request: 15 seconds.
    public var firstRequestTime: Duration = .seconds(15)
    /// The maximum time from the end of a response to the head of the next request: 75 seconds.
    public var idleTime: Duration = .seconds(75)
    /// The maximum time to receive the body of a request: 10 seconds.
    public var bodyTime: Duration = .seconds(10)
    /// The maximum time for a client to read a part of a response: 30 seconds.
    ///
    /// A part is 64 KiB of a file, what is left of it, or several events. So a client must read at
    /// least 2 kB per second, and a large file may take as long as that allows.
    public var writeTime: Duration = .seconds(30)
    /// The maximum time that a client may keep its side of a connection open after the server has
    /// closed the other side: 5 seconds.
    public var closeTime: Duration = .seconds(5)

    /// Creates limits with the default values above.
    public init() {}
}
