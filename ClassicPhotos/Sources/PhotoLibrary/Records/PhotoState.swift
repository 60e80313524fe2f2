public import PhotoPipeline

/// The progress of a photo towards being shown.
public enum PhotoState: Sendable, Hashable {
    /// Nothing has been downloaded; a placeholder is shown.
    ///
    /// Can transition to: `downloaded`, `failed`.
    case new

    /// The unfiltered picture is available and shown.
    ///
    /// Can transition to: `filtered`, `failed`.
    case downloaded

    /// The filtered picture is available and shown. The end of the photo's way.
    case filtered

    // Indirect, because most photos of a long list have no failure to store.

    /// The photo cannot be shown.
    ///
    /// Can transition to: `new` (a person asked to retry).
    indirect case failed(PhotoFailure)

    /// Whether a photo in this state may move to the given state.
    public func canBecome(_ next: PhotoState) -> Bool {
        switch (self, next) {
        case (.new, .downloaded), (.new, .failed): true
        case (.downloaded, .filtered), (.downloaded, .failed): true
        case (.failed(let failure), .new): failure.isRetryable
        case (.new, .new), (.new, .filtered): false
        case (.downloaded, .downloaded), (.downloaded, .new): false
        case (.filtered, .new), (.filtered, .downloaded), (.filtered, .filtered): false
        case (.filtered, .failed): false
        case (.failed, .downloaded), (.failed, .filtered), (.failed, .failed): false
        }
    }

    /// The reason of the failure; `nil` in every other state.
    public var failure: PhotoFailure? {
        switch self {
        case .failed(let failure): failure
        case .new, .downloaded, .filtered: nil
        }
    }
}

extension PhotoState: CustomStringConvertible {
    /// The state in words.
    public var description: String {
        switch self {
        case .new: "new"
        case .downloaded: "downloaded"
        case .filtered: "filtered"
        case .failed(let failure): "failed (\(failure))"
        }
    }
}
