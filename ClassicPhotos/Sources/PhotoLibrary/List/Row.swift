/// An index in the list, counted from 0.
public struct Row: Hashable, Sendable {
    /// The number of rows before this one.
    public let index: Int

    /// Creates the row with the given number of rows before it.
    public init(_ index: Int) {
        self.index = index
    }
}

extension Row: Strideable {
    /// The number of rows from this row to the other, negative if the other row comes first.
    ///
    /// The result saturates: rows may come from a client and must not cause an overflow.
    public func distance(to other: Row) -> Int {
        let (distance, overflow) = other.index.subtractingReportingOverflow(index)
        return overflow ? (other.index < index ? .min : .max) : distance
    }

    /// The row `count` places further down, or up if `count` is negative; saturates.
    public func advanced(by count: Int) -> Row {
        let (sum, overflow) = index.addingReportingOverflow(count)
        return Row(overflow ? (count < 0 ? .min : .max) : sum)
    }

    /// Orders rows from the top of the list down.
    public static func < (left: Row, right: Row) -> Bool { left.index < right.index }

    /// Whether both rows have the same index; written out because `Strideable` would subtract.
    public static func == (left: Row, right: Row) -> Bool { left.index == right.index }
}

extension Row: CustomStringConvertible {
    /// The row in words.
    public var description: String { "row \(index)" }
}
