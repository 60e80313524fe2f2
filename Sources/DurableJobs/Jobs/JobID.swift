#if DurableJobs
/// The number of a job in its store.
public struct JobID: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    /// The number; later jobs have larger numbers.
    public let rawValue: Int64

    /// Makes an identifier from a number that was shown before.
    public init(_ rawValue: Int64) { self.rawValue = rawValue }

    /// Decodes a number.
    public init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(Int64.self)
    }

    /// Encodes the number.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    /// Orders identifiers by their numbers.
    public static func < (a: JobID, b: JobID) -> Bool { a.rawValue < b.rawValue }

    /// The digits of the number.
    public var description: String { "\(rawValue)" }
}
#endif
