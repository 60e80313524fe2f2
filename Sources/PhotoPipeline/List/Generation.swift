/// The number of one attempt at a row: each start of work gets the next one, whatever its row.
///
/// It travels with the operations and comes back with their results. A result whose generation is
/// not the one in progress is old news, of a row that was cancelled, or of another list, and is
/// never drawn.
public struct Generation: Hashable, Comparable, Sendable {
    /// The number; later attempts have greater ones.
    public let number: UInt64

    /// Makes a generation from its number.
    public init(_ number: UInt64) {
        self.number = number
    }

    /// The one after this.
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
