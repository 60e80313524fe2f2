/// The number of an attempt to process a row; each attempt gets the next number, whatever its row.
///
/// The generation travels with the operations and returns with their results. A result of an
/// earlier generation is outdated, because its row was cancelled or its list was replaced, and is
/// never shown.
public struct Generation: Hashable, Comparable, Sendable {
    /// The number; later attempts have greater numbers.
    public let number: UInt64

    /// Creates a generation from its number.
    public init(_ number: UInt64) {
        self.number = number
    }

    /// The next generation.
    var next: Generation { Generation(number + 1) }

    /// Orders attempts in time.
    public static func < (left: Generation, right: Generation) -> Bool {
        left.number < right.number
    }
}

extension Generation: CustomStringConvertible {
    /// The generation in words.
    public var description: String { "generation \(number)" }
}
