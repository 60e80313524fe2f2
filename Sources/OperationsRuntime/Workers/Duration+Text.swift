extension Duration {
    /// The duration in words, rounded down: "300 µs", "85 ms", "3.2 s", "4 min", "7 h", "3 days".
    package var text: String {
        let microseconds = wholeNanoseconds / 1000
        if microseconds < 1000 { return "\(microseconds) µs" }
        let milliseconds = microseconds / 1000
        if milliseconds < 1000 { return "\(milliseconds) ms" }
        if milliseconds < 120_000 { return "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s" }
        let minutes = milliseconds / 60_000
        if minutes < 120 { return "\(minutes) min" }
        let hours = minutes / 60
        return hours < 48 ? "\(hours) h" : "\(hours / 24) days"
    }
}
