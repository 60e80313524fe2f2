import OperationsRuntime

/// How often durations of each length occurred, in a fixed amount of memory.
///
/// Each doubling of the length is divided into sixteen buckets of equal width, so a value read from
/// a bucket is off by a thirty-second of the value at most. Up to sixteen nanoseconds every value
/// has a bucket of its own; from 78 hours on all values share the last bucket. Source: G. Tene,
/// HdrHistogram.
public struct DurationHistogram: Sendable, Equatable {
    private static let precision = 4
    private static let highestBit = 47

    static let bucketCount = (highestBit - precision + 2) << precision

    private var counts: [UInt64]
    private var sum: UInt64
    private var least: UInt64
    private var most: UInt64

    /// Makes an empty histogram.
    public init() {
        self.init(counts: [], sum: 0, least: .max, most: 0)
    }

    /// - Parameter counts: the counts of all buckets, or an empty array.
    init(counts: [UInt64], sum: UInt64, least: UInt64, most: UInt64) {
        self.counts = counts.allSatisfy { $0 == 0 } ? [] : counts
        (self.sum, self.least, self.most) = (sum, least, most)
        count = Int(counts.reduce(0, &+))
    }

    // MARK: Buckets

    @inline(__always)
    static func bucket(of nanoseconds: UInt64) -> Int {
        if nanoseconds < 1 << precision { return Int(nanoseconds) }
        let bit = 63 - nanoseconds.leadingZeroBitCount
        if bit > highestBit { return bucketCount - 1 }
        let shift = bit - precision
        return (shift + 1) << precision + Int(nanoseconds >> UInt64(shift)) - 1 << precision
    }

    /// Returns the smallest value of a bucket.
    static func start(of bucket: Int) -> UInt64 {
        let (octave, place) = (bucket >> precision, UInt64(bucket & (1 << precision - 1)))
        return octave == 0 ? place : (1 << UInt64(precision) + place) << UInt64(octave - 1)
    }

    // MARK: Filling

    /// Adds a duration; a negative duration counts as 0.
    public mutating func add(_ duration: Duration) {
        let nanoseconds = duration.wholeNanoseconds
        if counts.isEmpty { counts = Array(repeating: 0, count: Self.bucketCount) }
        counts[Self.bucket(of: nanoseconds)] += 1
        count += 1
        sum &+= nanoseconds
        (least, most) = (Swift.min(least, nanoseconds), Swift.max(most, nanoseconds))
    }

    /// Adds all durations of another histogram.
    public mutating func merge(_ other: DurationHistogram) {
        guard other.count > 0 else { return }
        if counts.isEmpty { counts = Array(repeating: 0, count: Self.bucketCount) }
        for index in counts.indices { counts[index] += other.counts[index] }
        count += other.count
        sum &+= other.sum
        (least, most) = (Swift.min(least, other.least), Swift.max(most, other.most))
    }

    // MARK: Reading

    /// The number of durations added.
    public private(set) var count = 0

    /// The arithmetic mean, which is exact; nil if the histogram is empty.
    public var mean: Duration? {
        count == 0 ? nil : .nanoseconds(Int64(clamping: sum / UInt64(count)))
    }

    /// The shortest duration, which is exact; nil if the histogram is empty.
    public var min: Duration? { count == 0 ? nil : .nanoseconds(Int64(clamping: least)) }

    /// The longest duration, which is exact; nil if the histogram is empty.
    public var max: Duration? { count == 0 ? nil : .nanoseconds(Int64(clamping: most)) }

    /// Returns the duration that the given percentage of all durations do not exceed; nil if the
    /// histogram is empty.
    ///
    /// The result is the middle of the bucket that contains the percentile, or the shortest or
    /// longest duration if that is nearer.
    ///
    /// - Parameter percent: from 0 to 100; values outside of that range are clamped, and NaN
    ///   counts as 0.
    public func percentile(_ percent: Double) -> Duration? {
        guard count > 0 else { return nil }
        let share = percent > 0 ? Swift.min(percent, 100) / 100 : 0
        let rank = Swift.max(1, UInt64((share * Double(count)).rounded(.up)))
        // The shortest and the longest duration are known exactly.
        if rank == 1 { return min }
        if rank >= UInt64(count) { return max }
        var passed: UInt64 = 0
        for (bucket, occurrences) in counts.enumerated() {
            passed += occurrences
            guard passed >= rank else { continue }
            let start = Self.start(of: bucket)
            let end = bucket + 1 < Self.bucketCount ? Self.start(of: bucket + 1) - 1 : most
            let middle = start + (Swift.max(end, start) - start) / 2
            return .nanoseconds(Int64(clamping: Swift.min(Swift.max(middle, least), most)))
        }
        return max
    }
}

extension DurationHistogram: CustomStringConvertible {
    /// The count, the mean and some percentiles in one line.
    public var description: String {
        if count == 0 { return "nothing" }
        return zip(Self.columns, cells).map { "\($0) \($1)" }.joined(separator: ", ")
    }

    static let columns = ["count", "mean", "min", "50 %", "90 %", "99 %", "max"]

    var cells: [String] {
        let times = [mean, min, percentile(50), percentile(90), percentile(99), max]
        return ["\(count)"] + times.map { $0?.inShort ?? "–" }
    }
}

extension Duration {
    /// The duration with up to three digits and a unit: "1.25 µs", "340 ns", "12.0 s".
    var inShort: String {
        let nanoseconds = wholeNanoseconds
        let units: [(UInt64, String)] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")]
        guard let (size, unit) = units.first(where: { nanoseconds >= $0.0 }) else {
            return "\(nanoseconds) ns"
        }
        let whole = nanoseconds / size
        let thousandths = nanoseconds % size * 1_000 / size
        if whole >= 100 { return "\(whole) \(unit)" }
        if whole >= 10 { return "\(whole).\(thousandths / 100) \(unit)" }
        let hundredths = thousandths / 10
        return "\(whole).\(hundredths < 10 ? "0" : "")\(hundredths) \(unit)"
    }
}
