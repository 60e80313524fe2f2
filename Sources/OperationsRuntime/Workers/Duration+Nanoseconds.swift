extension Duration {
    /// The duration in nanoseconds: 0 if it is negative, the largest number if it is too long.
    package var wholeNanoseconds: UInt64 {
        if self <= .zero { return 0 }
        // `components` traps for some durations, and for some sums of durations.
        if self >= .seconds(Int64.max) { return .max }
        let (seconds, attoseconds) = components
        let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : whole &+ UInt64(attoseconds / 1_000_000_000)
    }
}
