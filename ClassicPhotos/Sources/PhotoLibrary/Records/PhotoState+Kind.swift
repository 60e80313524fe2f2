extension PhotoState {
    /// The states without the reason of a failure.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// See ``PhotoState/new``.
        case new
        /// See ``PhotoState/downloaded``.
        case downloaded
        /// See ``PhotoState/filtered``.
        case filtered
        /// See ``PhotoState/failed(_:)``.
        case failed

        /// The place in the order by state.
        var rank: Int {
            switch self {
            case .failed: 0
            case .new: 1
            case .downloaded: 2
            case .filtered: 3
            }
        }
    }

    /// The state without the reason of a failure.
    public var kind: Kind {
        switch self {
        case .new: .new
        case .downloaded: .downloaded
        case .filtered: .filtered
        case .failed: .failed
        }
    }
}
