public import Landscapes
import PhotoImaging

/// Encodes a rendered picture as a file.
///
/// The methods are called on threads that may block, several at a time.
public protocol PhotoEncoding: Sendable {
    /// Returns the file of a picture.
    ///
    /// - Throws: any error that prevents the encoding; the origin then responds with status 500.
    func encoded(_ picture: Landscape) throws -> [UInt8]
}

/// Encodes pictures as JPEG with high quality.
public struct JPEGPhotos: PhotoEncoding {
    private let quality: Int

    /// - Parameter quality: the JPEG quality, 1 … 100.
    public init(quality: Int = 88) { self.quality = quality }

    /// Returns the picture as a JPEG file.
    ///
    /// - Throws: `ImagingError` if the encoder cannot start or fails.
    public func encoded(_ picture: Landscape) throws -> [UInt8] {
        let size = PixelSize(width: picture.width, height: picture.height)
        let bitmap = try Bitmap(size: size, pixels: picture.rgb())
        return try ImageEngine.encode(bitmap, as: .jpeg, quality: quality).bytes
    }
}
