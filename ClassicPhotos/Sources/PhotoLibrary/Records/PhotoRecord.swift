@_spi(ClassicPhotos) public import PhotoPipeline

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A photo of a list: its identity, its URL and its state.
///
/// A record holds no picture. Pictures live in caches under the record's identifier, so a list of a
/// million photos stays small and copying a record is cheap.
public struct PhotoRecord: Sendable, Hashable, Identifiable {
    /// The identifier under which clients request the photo.
    public let id: PhotoID

    /// The name for display; plain text, never markup.
    public let name: String

    /// The system's name if it is not UTF-8; ``name`` then shows the invalid bytes as `\xE9`.
    public let nameBytes: [UInt8]?

    /// The text of the URL, which takes a fraction of the memory of a parsed URL.
    private let address: String?

    /// The absolute URL of the photo; `nil` only for an entry that failed in the list itself.
    ///
    /// - Complexity: O(n) in the length of the URL, which is parsed each time.
    public var url: URL? { address.flatMap { URL(string: $0) } }

    /// The folder in which a search has found the photo, outside of which its file must not lead.
    var folder: LocalPath?

    /// Whether there is a URL; unlike ``url``, this parses nothing.
    var hasURL: Bool { address != nil }

    /// The file of the photo; nil for a photo on the web.
    var file: LocalFile? { url.flatMap { LocalFile($0, in: folder) } }

    /// The state of the photo.
    public private(set) var state: PhotoState

    /// Creates the record of a new photo.
    public init(id: PhotoID, name: String, nameBytes: [UInt8]? = nil, url: URL) {
        self.id = id
        self.name = name
        self.nameBytes = nameBytes
        self.address = url.absoluteString
        self.state = .new
    }

    /// Creates the record of an invalid list entry, which has failed from the start.
    ///
    /// - Precondition: the failure is not retryable, because there is no URL to retry.
    public init(id: PhotoID, name: String, failure: PhotoFailure) {
        precondition(
            !failure.isRetryable,
            "Photo \"\(name)\" has no URL, so its failure cannot be retryable.")
        self.id = id
        self.name = name
        self.nameBytes = nil
        self.address = nil
        self.state = .failed(failure)
    }

    /// The record with a state that it has reached elsewhere.
    func with(_ state: PhotoState) -> PhotoRecord {
        var record = self
        record.state = state
        return record
    }

    /// Moves the photo to its next state.
    ///
    /// - Precondition: the present state allows the next state; see ``PhotoState``.
    public mutating func become(_ next: PhotoState) {
        precondition(
            state.canBecome(next),
            "Photo \"\(name)\" is \(state) and cannot become \(next).")
        state = next
    }
}
