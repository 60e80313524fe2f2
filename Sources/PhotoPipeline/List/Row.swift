/// A place in the list, counted from 0.
public struct Row: Hashable, Sendable {
    /// How many rows come before this one.
    public let index: Int

    /// Makes the row that has the given number of rows before it.
    public init(_ index: Int) {
        self.index = index
    }
}

extension Row: Strideable {
    /// The number of rows from this one to the other, negative if that one comes first.
    ///
    /// Saturates: rows may come from a client, which must not be able to overflow anything.
    public func distance(to other: Row) -> Int {
        let (distance, overflow) = other.index.subtractingReportingOverflow(index)
        return overflow ? (other.index < index ? .min : .max) : distance
    }

    /// The row that many places further down, or up for a negative number; saturates.
    public func advanced(by count: Int) -> Row {
        let (sum, overflow) = index.addingReportingOverflow(count)
        return Row(overflow ? (count < 0 ? .min : .max) : sum)
    }

    /// Orders rows from the top of the list down.
    public static func < (left: Row, right: Row) -> Bool { left.index < right.index }

    /// Whether both are the same place; spelled out because `Strideable` would subtract.
    public static func == (left: Row, right: Row) -> Bool { left.index == right.index }
}

extension Row: CustomStringConvertible {
    /// The row in words.
    public var description: String { "row \(index)" }
}
