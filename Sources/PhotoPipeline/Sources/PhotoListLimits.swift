/// How large a source of photos may be; what is beyond is refused before it costs memory or time.
public struct PhotoListLimits: Sendable, Hashable {
    /// The most bytes a list may have.
    public var bytes: Int
    /// The most photos a list or folder may have.
    public var entries: Int
    /// How deep containers, or folders, may be nested.
    public var depth: Int

    /// The limits unless told otherwise: 64 MiB, a million photos, 32 levels.
    public static let standard = PhotoListLimits(
        bytes: 64 * 1_024 * 1_024, entries: 1_000_000, depth: 32)

    /// Makes limits.
    public init(bytes: Int, entries: Int, depth: Int) {
        self.bytes = bytes
        self.entries = entries
        self.depth = depth
    }

    /// How many values a list may have in all: an entry has a few, not thousands.
    var values: Int { entries.multipliedReportingOverflow(by: 8).overflow ? .max : entries * 8 }
}
