/// The order in which people expect names: photo2 before photo10, regardless of case.
///
/// FoundationEssentials has no such comparison. `localizedStandardCompare` is in Foundation and
/// depends on the user's language; this order is the same everywhere.
struct NaturalOrder: Comparable {
    /// The original name.
    let name: String
    private let folded: [UInt8]

    /// Prepares a name for many comparisons.
    init(_ name: String) {
        self.name = name
        self.folded = Array(name.lowercased().utf8)
    }

    /// Whether the left name comes first. Names that differ only in case or leading zeros are
    /// ordered by their characters, so that the order is total and repeatable.
    static func < (left: NaturalOrder, right: NaturalOrder) -> Bool {
        let difference = compare(left.folded[...], right.folded[...])
        return difference == 0 ? left.name < right.name : difference < 0
    }

    static func == (left: NaturalOrder, right: NaturalOrder) -> Bool { left.name == right.name }

    /// Returns a negative number, zero or a positive number if the left name is less than, equal to
    /// or greater than the right name.
    private static func compare(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Int {
        var left = left
        var right = right
        while let first = left.first, let second = right.first {
            let difference: Int
            if isDigit(first), isDigit(second) {
                difference = compareNumbers(takeDigits(&left), takeDigits(&right))
            } else {
                left.removeFirst()
                right.removeFirst()
                difference = Int(first) - Int(second)
            }
            if difference != 0 { return difference }
        }
        return left.count - right.count
    }

    /// Compares numbers without computing their values, because digits may exceed the range of any
    /// integer.
    private static func compareNumbers(
        _ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>
    ) -> Int {
        let left = left.drop { $0 == UInt8(ascii: "0") }
        let right = right.drop { $0 == UInt8(ascii: "0") }
        if left.count != right.count { return left.count - right.count }
        return left.lexicographicallyPrecedes(right) ? -1 : (left.elementsEqual(right) ? 0 : 1)
    }

    private static func takeDigits(_ text: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let digits = text.prefix(while: isDigit)
        text = text.dropFirst(digits.count)
        return digits
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
