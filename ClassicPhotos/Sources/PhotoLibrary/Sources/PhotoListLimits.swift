/// Limits on the size of a source; larger sources are rejected before they cost memory or time.
public struct PhotoListLimits: Sendable, Hashable {
    /// The maximum size of a list in bytes.
    public var bytes: Int
    /// The maximum number of photos in a list or folder.
    public var entries: Int
    /// The maximum depth of nested containers or folders.
    public var depth: Int

    /// The default limits: 64 MiB, a million photos, 32 levels.
    public static let standard = PhotoListLimits(
        bytes: 64 * 1_024 * 1_024, entries: 1_000_000, depth: 32)

    /// Creates limits.
    public init(bytes: Int, entries: Int, depth: Int) {
        self.bytes = bytes
        self.entries = entries
        self.depth = depth
    }

    /// The maximum number of values in a list, at 8 values an entry.
    var values: Int { entries.multipliedReportingOverflow(by: 8).overflow ? .max : entries * 8 }
}
