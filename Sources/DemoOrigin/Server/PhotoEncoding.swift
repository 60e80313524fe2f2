import Imaging

/// Turns a rendered picture into the bytes of a file.
///
/// Called on threads that may block, several at a time.
public protocol PhotoEncoding: Sendable {
    /// The file for a picture.
    ///
    /// - Throws: whatever keeps the picture from being encoded; the origin answers 500.
    func encoded(_ picture: DemoPicture) throws -> [UInt8]
}

/// JPEG at the quality of a careful photographer.
public struct JPEGPhotos: PhotoEncoding {
    private let quality: Int

    /// - Parameter quality: 1 … 100.
    public init(quality: Int = 88) { self.quality = quality }

    /// The picture as a JPEG file.
    ///
    /// - Throws: `ImagingError` when the encoder cannot be started or refuses.
    public func encoded(_ picture: DemoPicture) throws -> [UInt8] {
        let size = PixelSize(width: picture.width, height: picture.height)
        let bitmap = try Bitmap(size: size, pixels: picture.rgb())
        return try ImageEngine.encode(bitmap, as: .jpeg, quality: quality).bytes
    }
}
