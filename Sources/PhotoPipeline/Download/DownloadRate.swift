#if PhotoPipeline
/// The mean rate of a response's body in windows of time, one after the other.
///
/// A slow download may take long, as long as something useful arrives; a server that sends a byte
/// from time to time would hold one of the connections to its host for ever.
struct DownloadRate {
    private let minimumBytes: Double
    private let window: Duration
    private var count = 0
    /// The time at which the present window ends.
    private(set) var windowEnd: ContinuousClock.Instant

    /// - Parameters:
    ///   - minimum: the minimum rate in bytes a second.
    ///   - begun: the time at which the body begins.
    init(minimum: Int, window: Duration, begun: ContinuousClock.Instant) {
        self.window = window
        minimumBytes = Double(minimum) * (window / .seconds(1))
        windowEnd = begun + window
    }

    mutating func bytesArrived(_ count: Int) { self.count += count }

    /// Whether too few bytes have arrived in a window that is over; begins the next window.
    mutating func isTooLow(at now: ContinuousClock.Instant) -> Bool {
        guard now >= windowEnd else { return false }
        defer { (count, windowEnd) = (0, now + window) }
        return Double(count) < minimumBytes
    }
}
#endif
