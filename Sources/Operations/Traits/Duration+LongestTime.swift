extension Duration {
    /// A century: no process lives longer.
    ///
    /// Times that users give are limited to it, so that adding one to the present, or converting it to
    /// nanoseconds, cannot overflow.
    static var longestTime: Duration { .seconds(36_525 * 86_400) }

    /// The nearest duration between minus a century and a century.
    var limitedToLongestTime: Duration {
        Swift.min(Swift.max(self, .zero - .longestTime), .longestTime)
    }
}
