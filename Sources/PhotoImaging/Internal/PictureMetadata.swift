#if PhotoImaging
import CPhotoVips

/// The metadata of a decoded picture, in the shim's form; immutable.
final class PictureMetadata: Sendable {
    nonisolated(unsafe) let pointer: OpaquePointer

    /// Takes ownership of `pointer`.
    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { cvips_metadata_free(pointer) }
}
#endif
