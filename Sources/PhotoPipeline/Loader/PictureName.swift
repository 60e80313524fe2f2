#if PhotoPipeline
/// The name of an encoded picture, which follows from its contents.
///
/// Equal pictures have equal names, in all pages and in all runs of the program. So a picture with
/// a name never changes, and a browser may keep it for ever. The name is the 64-bit FNV-1a hash of
/// the picture's bytes; it tells pictures apart, and protects nothing.
public struct PictureName: Hashable, Sendable {
    private let hash: UInt64

    init(hash: UInt64) { self.hash = hash }

    /// Creates a name from its text: 16 lower-case hexadecimal digits. nil for any other text.
    public init?(_ text: String) {
        guard let hash = UInt64(text, radix: 16), hash.hexadecimalDigits == text else { return nil }
        self.hash = hash
    }
}

extension PictureName: CustomStringConvertible {
    /// The name as 16 lower-case hexadecimal digits.
    public var description: String { hash.hexadecimalDigits }
}
#endif
