/// How much, how long and how often a download may try.
public struct DownloadLimits: Sendable, Hashable {
    /// The largest file, in bytes, counted as it arrives: 50 MiB.
    public var maximumBytes = 50 << 20
    /// How long a connection may take to be made: 5 seconds.
    public var connectTimeout: Duration = .seconds(5)
    /// How long a server may be silent: 10 seconds.
    public var idleTimeout: Duration = .seconds(10)
    /// How long one attempt may take as a whole: 60 seconds.
    public var totalTimeout: Duration = .seconds(60)
    /// How many redirections are followed: 5.
    public var maximumRedirects = 5
    /// How many connections are kept to one host: 6.
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
