/// Why a photo cannot be shown: at which stage it failed and what a person should know about it.
public struct PhotoFailure: Error, Sendable, Hashable {
    /// The steps of a photo's way at which it can fail, in their order.
    public enum Stage: String, Sendable, Hashable, CaseIterable {
        /// The entry in the list was no usable name and URL.
        case source
        /// The bytes could not be fetched.
        case download
        /// The bytes are no picture, or one beyond the limits.
        case decode
        /// The picture could not be filtered.
        case filter
        /// The filtered picture could not be turned into bytes.
        case encode
        /// The file could not be written.
        case write
    }

    /// Where it failed.
    public let stage: Stage

    /// One sentence for people: what happened and, where it helps, what to do.
    public let reason: String

    /// Whether trying again may help, as after a time-out; a list entry without a URL stays wrong.
    public let isRetryable: Bool

    /// Makes a failure.
    public init(stage: Stage, reason: String, isRetryable: Bool) {
        self.stage = stage
        self.reason = reason
        self.isRetryable = isRetryable
    }
}

extension PhotoFailure: CustomStringConvertible {
    /// The stage and the reason, for logs and reports.
    public var description: String { "\(stage.rawValue): \(reason)" }
}
