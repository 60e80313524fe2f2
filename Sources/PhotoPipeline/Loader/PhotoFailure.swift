#if PhotoPipeline
/// The reason why a photo cannot be shown: the failed stage, and a message for people.
public struct PhotoFailure: Error, Sendable, Hashable {
    /// The stages at which a photo can fail, in order.
    public enum Stage: String, Sendable, Hashable, CaseIterable {
        /// The entry in the list has no usable name and URL.
        case source
        /// The bytes could not be downloaded.
        case download
        /// The bytes are not a picture, or the picture exceeds the limits.
        case decode
        /// The picture could not be filtered.
        case filter
        /// The filtered picture could not be encoded.
        case encode
        /// The file could not be written.
        case write
    }

    /// The failed stage.
    public let stage: Stage

    /// One sentence for people: the cause and, where it helps, what to do.
    public let reason: String

    /// Whether a retry may help, for example after a time-out; a list entry without a URL stays
    /// wrong.
    public let isRetryable: Bool

    /// The reason as a code and its values, for programs that show it in another language; nil if
    /// only ``reason`` is known.
    public let cause: Cause?

    /// Whether the photo's bytes were loaded and are those of a picture, so that the original can
    /// be saved although it cannot be shown.
    public var hasOriginal: Bool {
        switch stage {
        case .source, .download: false
        case .decode, .filter, .encode, .write:
            switch cause?.code {
            case .emptyFile, .notAPicture, .formatNotRead: false
            default: true
            }
        }
    }

    /// Creates a failure.
    public init(stage: Stage, reason: String, isRetryable: Bool, cause: Cause? = nil) {
        self.stage = stage
        self.reason = reason
        self.isRetryable = isRetryable
        self.cause = cause
    }
}

extension PhotoFailure: CustomStringConvertible {
    /// The stage and the reason, for logs and reports.
    public var description: String { "\(stage.rawValue): \(reason)" }
}
#endif
