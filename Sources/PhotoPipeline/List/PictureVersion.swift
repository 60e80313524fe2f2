/// The number of what a row shows: it grows each time the row's picture changes.
///
/// Numbers are never used twice by one controller, not even for another list. A page can therefore
/// put it into a picture's address and let the browser keep the answer for good, and can tell which
/// of two messages about a row is the newer one.
public struct PictureVersion: Hashable, Comparable, Sendable {
    /// The number; newer pictures have greater ones.
    public let number: UInt64

    /// Makes a version from its number.
    public init(_ number: UInt64) {
        self.number = number
    }

    /// The one after this.
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
