/// How many photos of a list are in each state.
public struct PhotoStateCounts: Sendable, Hashable {
    /// Photos nothing has been fetched for, or whose pictures were dropped.
    public internal(set) var new = 0
    /// Photos that are shown unfiltered.
    public internal(set) var downloaded = 0
    /// Photos that are shown filtered.
    public internal(set) var filtered = 0
    /// Photos that cannot be shown.
    public internal(set) var failed = 0

    /// Counts nothing.
    public init() {}

    /// All photos of the list.
    public var total: Int { new + downloaded + filtered + failed }

    /// Counts the records one by one.
    ///
    /// - Complexity: O(n); the controller does it once a list and keeps the numbers from there on.
    public init(of records: [PhotoRecord]) {
        for record in records { self[record.state] += 1 }
    }

    /// The number that stands for a state; the reason of a failure makes no difference.
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
