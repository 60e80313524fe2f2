#if PhotoPipeline
/// How much of a photo has arrived.
public struct DownloadProgress: Sendable, Hashable {
    /// The number of bytes so far.
    public let received: Int
    /// The size of the file in bytes as the server announced it; nil if it did not. The number is
    /// not reliable.
    public let total: Int?

    /// Called on any thread for each part of a download that arrives.
    typealias Handler = @Sendable (DownloadProgress) -> Void
}
#endif
