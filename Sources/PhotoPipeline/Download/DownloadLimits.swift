/// How much, how long and how often a download may try.
///
/// The limits of time count from the moment at which a download has its turn: a wait for one of the
/// ``connectionsPerHost`` counts for none of them.
public struct DownloadLimits: Sendable, Hashable {
    /// The largest file, in bytes, counted as it arrives: 50 MiB.
    public var maximumBytes = 50 << 20
    /// How long a connection may take to be made: 5 seconds.
    public var connectTimeout: Duration = .seconds(5)
    /// How long a server may take until its answer begins, looking up its name and connecting included:
    /// 15 seconds. Interim answers (status 1xx) do not count as one. It holds for each redirection anew.
    public var firstByteTimeout: Duration = .seconds(15)
    /// How long a server may be silent in the middle of its answer: 10 seconds.
    public var idleTimeout: Duration = .seconds(10)
    /// How long one attempt may take as a whole, all redirections and the last byte included: 2 minutes.
    /// A download that took longer is not tried again by itself.
    public var totalTimeout: Duration = .seconds(120)
    /// How many redirections are followed: 5.
    public var maximumRedirects = 5
    /// How many downloads from one host and port run at the same time: 6. Others wait for their turn.
    public var connectionsPerHost = 6
    /// How often a download is tried if what went wrong may pass: 3 times.
    public var attempts = 3
    /// The wait before the second attempt, doubled for each later one and varied by up to a half,
    /// so that many downloads that failed together do not come back together: 250 ms.
    public var retryDelay: Duration = .milliseconds(250)
    /// The longest wait that a server may ask for by Retry-After: 10 seconds.
    public var maximumRetryDelay: Duration = .seconds(10)

    /// Makes the limits named above.
    public init() {}
}
