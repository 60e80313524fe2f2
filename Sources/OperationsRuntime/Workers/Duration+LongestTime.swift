extension Duration {
    /// A century: no process lives longer.
    ///
    /// Durations that users give are limited to it, so that adding one to the present time, or
    /// converting it to nanoseconds, cannot overflow.
    static var longestTime: Duration { .seconds(36_525 * 86_400) }

    /// The duration, limited to the range from minus a century to a century.
    package var limitedToLongestTime: Duration {
        Swift.min(Swift.max(self, .zero - .longestTime), .longestTime)
    }
}
