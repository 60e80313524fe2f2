#if PhotoPipeline
/// FNV-1a of 64 bits, with the constants of its authors (Fowler, Noll and Vo).
///
/// Swift's own `Hasher` differs from run to run, but stored hashes and identifiers must not.
///
/// Inlinable: another module would call this function unspecialized, which takes 0.7 ms for a small
/// picture.
@inlinable
@_spi(ClassicPhotos) public func fnv1a(
    _ bytes: some Sequence<UInt8>, after start: UInt64 = 0xCBF2_9CE4_8422_2325
) -> UInt64 {
    bytes.reduce(start) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
}
#endif
