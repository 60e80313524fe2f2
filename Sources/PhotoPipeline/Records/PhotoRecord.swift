public import FoundationEssentials

/// One photo of a list: who it is, where it comes from and how far it is.
///
/// It holds no picture: pictures live in caches, under the record's identifier, so that a list of
/// a million photos stays small and a copy of a record costs nothing.
public struct PhotoRecord: Sendable, Hashable, Identifiable {
    /// The name under which the photo is asked for.
    public let id: PhotoID

    /// The name for people; text, never markup.
    public let name: String

    /// The name as the system has it, if that is not UTF-8; ``name`` then shows the other bytes as
    /// `\xE9`.
    public let nameBytes: [UInt8]?

    /// Where the bytes come from, absolute; `nil` only for an entry that failed in the list itself.
    public let url: URL?

    /// How far the photo is.
    public private(set) var state: PhotoState

    /// Makes the record of a photo that nothing has been done for yet.
    public init(id: PhotoID, name: String, nameBytes: [UInt8]? = nil, url: URL) {
        self.id = id
        self.name = name
        self.nameBytes = nameBytes
        self.url = url
        self.state = .new
    }

    /// Makes the record of a list entry that is wrong in itself: it is failed from the start.
    ///
    /// - Precondition: the failure is not retryable, for there is no URL to try again.
    public init(id: PhotoID, name: String, failure: PhotoFailure) {
        precondition(
            !failure.isRetryable,
            "Photo \"\(name)\" has no URL, so its failure cannot be retryable.")
        self.id = id
        self.name = name
        self.nameBytes = nil
        self.url = nil
        self.state = .failed(failure)
    }

    /// Takes the photo to its next state.
    ///
    /// - Precondition: the present state can become the next one; see ``PhotoState``.
    public mutating func become(_ next: PhotoState) {
        precondition(
            state.canBecome(next),
            "Photo \"\(name)\" is \(state) and cannot become \(next).")
        state = next
    }
}
