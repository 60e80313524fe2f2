/// The name by which a photo is asked for: opaque, short, and the same each time the list is read.
///
/// It is derived from the photo's name and URL, not from its place in the list: a list that was
/// read again, or that grew at its top, keeps the identifiers of the photos it still has. A client
/// can therefore name a photo by it without naming a URL or a path.
public struct PhotoID: Hashable, Comparable, Sendable {
    /// The number behind the identifier; it means nothing by itself.
    public let rawValue: UInt64

    /// Makes an identifier from a number.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Orders identifiers by their number, so that listings of them are repeatable.
    public static func < (left: PhotoID, right: PhotoID) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension PhotoID: LosslessStringConvertible {
    /// Sixteen hexadecimal digits: fit for a URL, a file name or an attribute.
    public var description: String {
        let digits = String(rawValue, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Reads the text form back; `nil` for anything but sixteen lowercase hexadecimal digits.
    public init?(_ description: String) {
        let digits = description.utf8
        let isHexadecimal = digits.allSatisfy { digit in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(digit)
        }
        guard digits.count == 16, isHexadecimal, let number = UInt64(description, radix: 16) else {
            return nil
        }
        self.init(rawValue: number)
    }
}
