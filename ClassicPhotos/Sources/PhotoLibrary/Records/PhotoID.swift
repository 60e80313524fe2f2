@_spi(ClassicPhotos) import PhotoPipeline

/// The identifier of a photo for clients: opaque, short, and the same each time the list is read.
///
/// The identifier is derived from the photo's name and URL, not from its position. A list that is
/// read again, or grows at its top, keeps the identifiers of its photos. A client can therefore
/// request a photo without knowing a URL or a path.
public struct PhotoID: Hashable, Comparable, Sendable {
    /// The numeric value; opaque.
    public let rawValue: UInt64

    /// Creates an identifier from a number.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Orders identifiers by number, so that listings are repeatable.
    public static func < (left: PhotoID, right: PhotoID) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension PhotoID: LosslessStringConvertible {
    /// Sixteen hexadecimal digits, safe in a URL, a file name or an attribute.
    public var description: String { rawValue.hexadecimalDigits }

    /// Parses the text form; `nil` for anything but sixteen lowercase hexadecimal digits.
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
