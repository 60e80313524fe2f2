#if PhotoPipeline
import PhotoImaging

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Limits on the size, the duration and the number of attempts of a download.
///
/// Time limits start when the download gets one of the ``connectionsPerHost``; the wait for a
/// connection does not count.
public struct DownloadLimits: Sendable, Hashable {
    /// The maximum size of a download, in bytes, counted on arrival: 50 MiB.
    public var maximumBytes = 50 << 20
    /// The maximum size of a file of this machine, in bytes: what a picture with as many pixels as
    /// `ImageLimits.ownFiles` of `PhotoImaging` allows can take without compression, 1.6 GB, but at
    /// most half of the machine's memory.
    ///
    /// A person's own file may have any size whose pixels can be read. The limit keeps the program
    /// from reading what is no picture, such as a video with the wrong extension, as a whole.
    public var maximumFileBytes = maximumFileBytes(pixels: ImageLimits.ownFiles.maximumPixels)
    /// The maximum time to establish a connection: 5 seconds.
    public var connectTimeout: Duration = .seconds(5)
    /// The maximum time until a server's response begins, including the name lookup and the
    /// connection: 15 seconds.
    ///
    /// Interim responses (status 1xx) do not count. The limit restarts for each redirection.
    public var firstByteTimeout: Duration = .seconds(15)
    /// The maximum silence in the middle of a response: 10 seconds.
    public var idleTimeout: Duration = .seconds(10)
    /// The minimum rate at which the body of a response arrives, in bytes a second, as the mean of
    /// each ``rateWindow``: 1,000.
    ///
    /// A download that is slower is not retried automatically.
    public var minimumRate = 1_000
    /// The time over which the rate is measured: 15 seconds.
    public var rateWindow: Duration = .seconds(15)
    /// The maximum duration of an attempt, including all redirections and the last byte: 30
    /// minutes, in which the largest file arrives at 30 kB a second.
    ///
    /// A download that exceeds this limit is not retried automatically.
    public var totalTimeout: Duration = .seconds(1_800)
    /// The maximum number of redirections: 5.
    public var maximumRedirects = 5
    /// The maximum number of simultaneous downloads from one host and port: 6.
    ///
    /// Further downloads wait for their turn.
    public var connectionsPerHost = 6
    /// The minimum time between the starts of two requests to one host and port: zero, no minimum.
    ///
    /// Redirections and further attempts are requests, too. `.milliseconds(100)` means at most ten
    /// requests a second.
    public var requestInterval: Duration = .zero
    /// The maximum number of attempts if an error may be temporary: 3.
    public var attempts = 3
    /// The longest delay before the second attempt: 500 ms.
    ///
    /// The longest delay doubles for each further attempt. The delay itself is random between zero
    /// and the longest delay, so that many failed downloads do not retry at the same moment.
    public var retryDelay: Duration = .milliseconds(500)
    /// The maximum delay that a server may request through Retry-After: 10 seconds.
    public var maximumRetryDelay: Duration = .seconds(10)

    /// Creates limits with the default values above.
    public init() {}

    /// The size of the largest file that a picture with a number of pixels can need: 16 bytes a
    /// pixel, for four channels of 32 bits, and 64 MiB for everything else. At most half of the
    /// machine's memory, because the file is in memory together with its pixels.
    @_spi(ClassicPhotos) public static func maximumFileBytes(pixels: Int) -> Int {
        let (bytes, overflows) = pixels.multipliedReportingOverflow(by: 16)
        let half = Int(clamping: ProcessInfo.processInfo.physicalMemory / 2)
        return overflows ? half : min(bytes.addingReportingOverflow(64 << 20).partialValue, half)
    }
}
#endif
