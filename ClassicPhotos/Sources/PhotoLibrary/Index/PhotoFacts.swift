public import PhotoImaging

/// What is known of a photo: what its file says before the pixels, and what was found when the
/// photo was decoded. The facts stay when its pictures are dropped from memory.
///
/// The texts come from files: show them as text, never as markup.
public struct PhotoFacts: Sendable, Hashable {
    /// The size of the upright original in pixels; nil if its header could not be read.
    public var size: PixelSize?
    /// How the stored picture is turned upright, 1 to 8 as in EXIF.
    public var orientation = 1
    /// The size of the original's file in bytes.
    public var byteCount: Int?
    /// The time of the exposure.
    public var taken: PhotoTime?
    /// The maker and the model of the camera.
    public var camera: String?
    /// The title that a person gave the photo.
    public var title: String?
    /// A person's rating: 1 to 5 stars, or -1 for a rejected photo; nil without a rating.
    public var rating: Int?
    /// The keywords that a person gave the photo.
    public var keywords: [String] = []
    /// The colors to show until the photo is there.
    public var placeholder: PhotoPlaceholder?
    /// The average color of the decoded photo as `0xRRGGBB`; nil before it was decoded.
    public var decodedColor: UInt32?
    /// What is wrong with a damaged file, of which only a part is shown, as a clause; nil for a
    /// sound one.
    public var damage: String?

    /// The average color as `0xRRGGBB`: of the decoded photo, otherwise of the placeholder.
    public var color: UInt32? { decodedColor ?? placeholder?.color }

    /// Creates facts about a photo of which nothing is known.
    public init() {}

    /// Reads the facts from an original and its decoded picture of any size.
    ///
    /// Call this method on a thread that may block for some milliseconds.
    ///
    /// - Parameter info: the original's header.
    init(original bytes: [UInt8], info: ImageInfo, bitmap: Bitmap, limits: ImageLimits) {
        let header = try? ImageEngine.header(of: bytes, limits: limits)
        self.init(header, byteCount: bytes.count)
        (size, orientation) = (info.size, info.orientation)
        decodedColor = Self.averageColor(of: bitmap)
        placeholder = placeholder ?? PhotoPlaceholder(bitmap, shape: info.size)
    }

    /// - Parameter header: the header; nil if it could not be read.
    init(_ header: PictureHeader?, byteCount: Int) {
        self.byteCount = byteCount
        guard let header else { return }
        (size, orientation) = (header.info.size, header.info.orientation)
        taken = header.fields.taken.flatMap(PhotoTime.init)
        camera = header.fields.camera
        if let xmp = header.xmp { apply(XMPFields(xmp)) }
        placeholder = Self.placeholder(of: header)
    }

    /// Takes the fields of a packet, which replace those of the file.
    mutating func apply(_ fields: XMPFields) {
        title = fields.title ?? title
        if let rating = fields.rating { self.rating = rating == 0 ? nil : rating }
        keywords = fields.keywords ?? keywords
    }

    /// Takes what decoding has found. The index knows the texts of a sidecar, too, which the file
    /// itself does not have.
    mutating func found(_ decoded: PhotoFacts) {
        (size, orientation) = (decoded.size, decoded.orientation)
        (byteCount, decodedColor, damage) = (
            decoded.byteCount, decoded.decodedColor, decoded.damage
        )
        placeholder = placeholder ?? decoded.placeholder
    }

    private static let thumbnailLimits = ImageLimits(
        maximumPixels: 1_000_000, allowedFormats: [.jpeg])
    /// Small enough for a few milliseconds, and with several pixels for each cell.
    private static let thumbnailBox = PixelSize(width: 24, height: 24)

    private static func placeholder(of header: PictureHeader) -> PhotoPlaceholder? {
        guard let thumbnail = header.thumbnail,
            let bitmap = try? ImageEngine.decode(
                thumbnail, fitting: thumbnailBox, limits: thumbnailLimits)
        else { return nil }
        return PhotoPlaceholder(
            bitmap, orientation: header.info.orientation, shape: header.info.size)
    }

    /// The average color of about a thousand pixels that are spread over the first frame.
    ///
    /// Transparent pixels count less. A bitmap with 16 bits per channel is not read, because the
    /// list shows 8 bits; its color is gray.
    static func averageColor(of bitmap: Bitmap) -> UInt32 {
        guard bitmap.bitsPerChannel == 8 else { return 0x808080 }
        let bands = bitmap.hasAlpha ? 4 : 3
        let pixelCount = bitmap.size.width * bitmap.size.height
        // An odd step does not stay in the same columns of pictures with an even width.
        let step = max(1, pixelCount / 1_000) | 1
        var mean = MeanColor()
        bitmap.withPixels { pixels in
            for pixel in stride(from: 0, to: pixelCount, by: step) {
                let place = pixel * bands
                mean.add(
                    UInt32(pixels[place]), UInt32(pixels[place + 1]), UInt32(pixels[place + 2]),
                    weight: bands == 4 ? Int(pixels[place + 3]) : 255)
            }
        }
        return mean.color
    }
}
