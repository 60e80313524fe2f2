/// The median, minimum and maximum of several rounds.
struct Spread: Sendable {
    let median: Double
    let min: Double
    let max: Double

    /// - Precondition: `values` is not empty.
    init(_ values: [Double]) {
        let sorted = values.sorted()
        let middle = sorted.count / 2
        median =
            sorted.count.isMultiple(of: 2)
            ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
        min = sorted[0]
        max = sorted[sorted.count - 1]
    }

    static func / (spread: Spread, divisor: Double) -> Spread {
        Spread([spread.min / divisor, spread.median / divisor, spread.max / divisor])
    }
}

extension Duration {
    var nanoseconds: Double { seconds * 1e9 }
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}

/// Returns the duration of a body.
func time(_ body: () -> Void) -> Duration { ContinuousClock().measure(body) }
