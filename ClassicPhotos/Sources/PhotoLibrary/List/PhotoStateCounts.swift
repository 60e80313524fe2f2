/// The number of photos of a list in each state.
public struct PhotoStateCounts: Sendable, Hashable {
    /// Photos that have not been downloaded, or whose pictures were dropped.
    public internal(set) var new = 0
    /// Photos that are shown unfiltered.
    public internal(set) var downloaded = 0
    /// Photos that are shown filtered.
    public internal(set) var filtered = 0
    /// Photos that cannot be shown.
    public internal(set) var failed = 0

    /// Creates counts of zero.
    public init() {}

    /// The number of photos in the list.
    public var total: Int { new + downloaded + filtered + failed }

    /// Counts the records.
    ///
    /// - Complexity: O(n). The controller counts once for each list and then updates the numbers.
    public init(of records: some Sequence<PhotoRecord>) {
        for record in records { self[record.state] += 1 }
    }

    /// The count for a state; all failures share one count, whatever their reason.
    subscript(state: PhotoState) -> Int {
        get {
            switch state {
            case .new: new
            case .downloaded: downloaded
            case .filtered: filtered
            case .failed: failed
            }
        }
        set {
            switch state {
            case .new: new = newValue
            case .downloaded: downloaded = newValue
            case .filtered: filtered = newValue
            case .failed: failed = newValue
            }
        }
    }
}
