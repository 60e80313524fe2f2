/// How far a photo is on its way to being shown.
public enum PhotoState: Sendable, Hashable {
    /// Nothing has been fetched; a placeholder is shown.
    /// Can transition to: `downloaded`, `failed`.
    case new

    /// The picture is there, unfiltered, and is shown at once.
    /// Can transition to: `filtered`, `failed`, `new` (its pictures were dropped from memory).
    case downloaded

    /// The filtered picture is there. Can transition to: `new` (its pictures were dropped).
    case filtered

    /// It cannot be shown. Can transition to: `new` (somebody asked to try again).
    case failed(PhotoFailure)

    /// Whether a photo in this state may take on another one.
    public func canBecome(_ next: PhotoState) -> Bool {
        switch (self, next) {
        case (.new, .downloaded), (.new, .failed): true
        case (.downloaded, .filtered), (.downloaded, .failed), (.downloaded, .new): true
        case (.filtered, .new): true
        case (.failed(let failure), .new): failure.isRetryable
        case (.new, .new), (.new, .filtered): false
        case (.downloaded, .downloaded): false
        case (.filtered, .downloaded), (.filtered, .filtered), (.filtered, .failed): false
        case (.failed, .downloaded), (.failed, .filtered), (.failed, .failed): false
        }
    }

    /// Why the photo failed; `nil` in every other state.
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
