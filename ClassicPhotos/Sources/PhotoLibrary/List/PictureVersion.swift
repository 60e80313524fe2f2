/// The number of a row's picture, which grows each time the picture changes.
///
/// A controller never uses a number twice, not even for another list. So a page can tell which of
/// two messages about a row is newer.
public struct PictureVersion: Hashable, Comparable, Sendable {
    /// The number; newer pictures have greater numbers.
    public let number: UInt64

    /// Creates a version from its number.
    public init(_ number: UInt64) {
        self.number = number
    }

    /// The next version.
    var next: PictureVersion { PictureVersion(number + 1) }

    /// Orders versions in time.
    public static func < (left: PictureVersion, right: PictureVersion) -> Bool {
        left.number < right.number
    }
}

extension PictureVersion: CustomStringConvertible {
    /// The version in words.
    public var description: String { "version \(number)" }
}
