#if PhotoPipeline
public import PhotoImaging
import Synchronization

/// What is known of a photo's contents after its first download: the facts stay when its pictures
/// are dropped from memory.
public struct PhotoFacts: Sendable, Hashable {
    /// The average color as `0xRRGGBB`.
    public var color: UInt32
    /// The size of the upright original in pixels.
    public var size: PixelSize
    /// The size of the original's file in bytes.
    public var byteCount: Int
    /// The time of the exposure, as in `ExifFields.taken` of `PhotoImaging`.
    public var taken: String?
    /// What is wrong with a damaged file, of which only a part is shown, as a clause; nil for a
    /// sound one.
    public var damage: String?

    /// Creates facts.
    public init(color: UInt32, size: PixelSize, byteCount: Int, taken: String? = nil) {
        self.color = color
        self.size = size
        self.byteCount = byteCount
        self.taken = taken
    }

    /// Reads the facts from an original and its decoded picture of any size.
    ///
    /// Call this method on a thread that may block for some milliseconds.
    ///
    /// - Parameter info: the original's header.
    init(original bytes: [UInt8], info: ImageInfo, bitmap: Bitmap, limits: ImageLimits) {
        let fields = try? ImageEngine.exif(of: bytes, limits: limits)
        self.init(
            color: Self.averageColor(of: bitmap), size: info.size, byteCount: bytes.count,
            taken: fields?.taken)
    }

    /// The average color of about a thousand pixels that are spread over the first frame.
    ///
    /// The mean of the squares is close to the mean of the light, so that a picture of black and
    /// white stripes gets the gray that the eye sees. Transparent pixels count less. A bitmap with
    /// 16 bits per channel is not read, because the list shows 8 bits; its color is gray.
    static func averageColor(of bitmap: Bitmap) -> UInt32 {
        guard bitmap.bitsPerChannel == 8 else { return 0x808080 }
        let bands = bitmap.hasAlpha ? 4 : 3
        let pixelCount = bitmap.size.width * bitmap.size.height
        // An odd step does not stay in the same columns of pictures with an even width.
        let step = max(1, pixelCount / 1_000) | 1
        var (red, green, blue, weight) = (0, 0, 0, 0)
        bitmap.withPixels { pixels in
            for pixel in stride(from: 0, to: pixelCount, by: step) {
                let place = pixel * bands
                let alpha = bands == 4 ? Int(pixels[place + 3]) : 255
                let (r, g, b) = (
                    Int(pixels[place]), Int(pixels[place + 1]), Int(pixels[place + 2])
                )
                red += r * r * alpha
                green += g * g * alpha
                blue += b * b * alpha
                weight += alpha
            }
        }
        guard weight > 0 else { return 0xFFFFFF }
        return [red, green, blue].reduce(0) { color, sum in
            let root = (Double(sum) / Double(weight)).squareRoot().rounded()
            return color << 8 | UInt32(min(root, 255))
        }
    }
}

/// The facts of a list's photos, shared by all pages that show the list.
///
/// A page that opens later therefore knows the colors of the photos that another page has
/// downloaded. All methods are thread-safe.
public final class PhotoFactTable: Sendable {
    private let facts = Mutex<[PhotoID: PhotoFacts]>([:])

    /// Creates an empty table.
    public init() {}

    /// The facts of a photo; nil before its first download.
    public subscript(id: PhotoID) -> PhotoFacts? {
        get { facts.withLock { $0[id] } }
        set { facts.withLock { $0[id] = newValue } }
    }

    /// All facts, by photo.
    public var all: [PhotoID: PhotoFacts] { facts.withLock { $0 } }
}
#endif
