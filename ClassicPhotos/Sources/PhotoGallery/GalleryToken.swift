import PhotoLibrary
@_spi(ClassicPhotos) import PhotoPipeline

/// A secret that a client must know to use a gallery that shows a person's own photos, or that
/// other machines can reach.
public struct GalleryToken: Sendable {
    /// The secret: 32 hexadecimal digits, safe in an address.
    public let text: String

    /// Creates a new secret from 128 bits of the system's secure random numbers.
    public init() {
        var random = SystemRandomNumberGenerator()
        let halves: [UInt64] = [random.next(), random.next()]
        text = halves.map(\.hexadecimalDigits).joined()
    }

    /// Whether a client's text is the secret. The time does not depend on where the texts differ,
    /// so the time of an answer says nothing about the secret.
    func matches(_ candidate: some StringProtocol) -> Bool {
        let (own, other) = (Array(text.utf8), Array(candidate.utf8))
        guard own.count == other.count else { return false }
        return zip(own, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
