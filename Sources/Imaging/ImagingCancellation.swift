import CVips

/// A way to stop work on a picture from another thread, at once, at a deadline, or when it has used
/// so much of a processor's time.
///
/// Hand one to any call of ``ImageEngine``; the call asks it before every stage, while it reads and
/// while it computes, and throws ``ImagingError/cancelled`` or ``ImagingError/timedOut``. One value
/// may serve any number of calls, at the same time and in turn; once cancelled it stays so.
///
/// Everything here may be called from any thread and takes nanoseconds.
public final class ImagingCancellation: Sendable {
    /// Atomic inside, and never replaced.
    nonisolated(unsafe) let token: OpaquePointer

    /// Work that may be cancelled and, if it is said, stops by itself.
    ///
    /// - Parameters:
    ///   - deadline: how long from now; nil for no end.
    ///   - processorTime: how much time of processors the calls with this value may use together,
    ///     in so far as they work on pixels; nil for any. Unlike a deadline this does not count the
    ///     time in which a thread waits for a processor, so it says the same on a busy machine.
    ///     Work is stopped within some 10 ms of it.
    public init(deadline: Duration? = nil, processorTime: Duration? = nil) {
        let token = cvips_token_new(
            deadline.map(Self.nanoseconds) ?? -1, processorTime.map(Self.nanoseconds) ?? -1)
        guard let token else { fatalError("out of memory for a cancellation of a few bytes") }
        self.token = token
    }

    deinit { cvips_token_free(token) }

    /// Stops the work that uses this value, now and for ever.
    public func cancel() { withExtendedLifetime(self) { cvips_token_cancel(token) } }

    /// Whether ``cancel()`` was called. A deadline that passed does not count.
    public var isCancelled: Bool {
        withExtendedLifetime(self) { cvips_token_is_cancelled(token) }
    }

    /// Throws if the work should stop; for code between two calls.
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

    /// Calls `body` with the token for the shim, and keeps its owner alive until `body` returns.
    static func withToken<Result>(
        of cancellation: ImagingCancellation?, _ body: (OpaquePointer?) -> Result
    ) -> Result {
        withExtendedLifetime(cancellation) { body(cancellation?.token) }
    }

    /// At least 0, because a negative number means "no limit" to the shim.
    private static func nanoseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? 0 : .max }
        let (sum, overflowed) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflowed ? .max : max(0, sum)
    }
}
