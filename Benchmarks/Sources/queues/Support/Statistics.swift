/// The middle and the ends of what several rounds gave.
struct Spread: Sendable {
    let median: Double
    let min: Double
    let max: Double

    /// - Precondition: there is at least one value.
    init(_ values: [Double]) {
        let sorted = values.sorted()
        let middle = sorted.count / 2
        median =
            sorted.count.isMultiple(of: 2)
            ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
        min = sorted[0]
        max = sorted[sorted.count - 1]
    }
}

extension Duration {
    var nanoseconds: Double { seconds * 1e9 }
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}

/// How long a body takes.
func time(_ body: () -> Void) -> Duration { ContinuousClock().measure(body) }
