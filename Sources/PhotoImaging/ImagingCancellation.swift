#if PhotoImaging
import CPhotoVips

/// Stops work on a picture from another thread: at once, at a deadline, or when it has used its
/// processor time.
///
/// Pass a cancellation to any call of ``ImageEngine``. The call checks it before every stage, while
/// reading and while computing, and throws ``ImagingError/cancelled`` or ``ImagingError/timedOut``.
/// One value may serve any number of calls, in parallel or one after another. A cancellation cannot
/// be undone.
///
/// All methods are thread-safe and take nanoseconds.
public final class ImagingCancellation: Sendable {
    /// The shim's token; atomic inside, never replaced.
    nonisolated(unsafe) let token: OpaquePointer

    /// Creates a cancellation that may also stop the work by itself.
    ///
    /// - Parameters:
    ///   - deadline: the time from now until the work stops; nil for no deadline.
    ///   - processorTime: the processor time that the calls with this value may use together for
    ///     work on pixels; nil for no limit. Unlike a deadline, it excludes the time in which a
    ///     thread waits for a processor, so the limit means the same on a busy machine. Work stops
    ///     within some 10 ms of the limit.
    public init(deadline: Duration? = nil, processorTime: Duration? = nil) {
        let token = cvips_token_new(
            deadline.map(Self.nanoseconds) ?? -1, processorTime.map(Self.nanoseconds) ?? -1)
        guard let token else { fatalError("out of memory for a cancellation of a few bytes") }
        self.token = token
    }

    deinit { cvips_token_free(token) }

    /// Stops the work that uses this value, permanently.
    public func cancel() { withExtendedLifetime(self) { cvips_token_cancel(token) } }

    /// Whether ``cancel()`` was called; an expired deadline does not count.
    public var isCancelled: Bool {
        withExtendedLifetime(self) { cvips_token_is_cancelled(token) }
    }

    /// Throws if the work should stop; for use between two calls.
    ///
    /// - Throws: ``ImagingError/cancelled`` or ``ImagingError/timedOut``.
    public func check() throws(ImagingError) {
        let status = Self.withToken(of: self) { cvips_token_check($0) }
        switch status {
        case .cancelled: throw .cancelled
        case .timedOut: throw .timedOut
        case .ok, .unavailable, .outOfMemory, .failed, .damaged: return
        }
    }

    /// Calls `body` with the shim's token, and keeps the owner of the token alive until `body`
    /// returns.
    static func withToken<Result>(
        of cancellation: ImagingCancellation?, _ body: (OpaquePointer?) -> Result
    ) -> Result {
        withExtendedLifetime(cancellation) { body(cancellation?.token) }
    }

    /// The duration in nanoseconds, at least 0: the shim reads a negative number as "no limit".
    private static func nanoseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? 0 : .max }
        let (sum, overflowed) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflowed ? .max : max(0, sum)
    }
}
#endif
