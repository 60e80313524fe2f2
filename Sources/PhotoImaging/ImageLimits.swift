#if PhotoImaging
/// Limits on the header of a picture, checked before any pixel is decoded.
///
/// A few kilobytes can describe a picture that takes gigabytes. Only the header is checked against
/// the limits, so rejecting such a file takes less than a millisecond.
public struct ImageLimits: Sendable, Hashable {
    /// The maximum number of pixels (width × height) of one frame, and of all decoded frames
    /// together at their decoded size; 100 million by default.
    public var maximumPixels: Int

    /// The maximum number of pixels of a progressive JPEG or an interlaced PNG; 60 million by
    /// default.
    ///
    /// These pictures cannot be decoded in strips: the whole picture is in memory at once, about 3
    /// bytes per pixel for PNG and up to 6 for JPEG.
    public var maximumProgressivePixels: Int

    /// The maximum length of a side in pixels; 30,000 by default.
    public var maximumSide: Int

    /// The formats that may be read.
    ///
    /// The default leaves out HEIF and AVIF: their decoders have the worst security record of all
    /// formats, so an application has to enable them explicitly. It also leaves out raw files,
    /// which photos of strangers are not, and of which only a part is shown.
    public var allowedFormats: Set<ImageFormat>

    /// The default limits.
    public static let standard = ImageLimits()

    /// The default limits for files that a person has on the own disk: all formats are allowed, and
    /// sides of up to 100,000 pixels, as long panoramas and scans of rolls have them.
    public static let ownFiles = ImageLimits(
        maximumSide: 100_000, allowedFormats: Set(ImageFormat.allCases))

    /// Creates limits that differ from the default only in the given values.
    public init(
        maximumPixels: Int = 100_000_000,
        maximumProgressivePixels: Int = 60_000_000,
        maximumSide: Int = 30_000,
        allowedFormats: Set<ImageFormat> = [.jpeg, .png, .webp, .gif, .tiff]
    ) {
        self.maximumPixels = maximumPixels
        self.maximumProgressivePixels = maximumProgressivePixels
        self.maximumSide = maximumSide
        self.allowedFormats = allowedFormats
    }

    /// Checks a header against the limits.
    ///
    /// - Throws: ``ImagingError/tooLarge(size:limit:)`` or
    ///   ``ImagingError/formatNotAllowed(_:allowed:)``.
    public func check(_ info: ImageInfo) throws(ImagingError) {
        try check(info.format)
        if info.size.longerSide > maximumSide {
            throw .tooLarge(size: info.size, limit: "\(grouped(maximumSide)) pixels per side")
        }
        if info.size.pixelCount > maximumPixels {
            throw .tooLarge(size: info.size, limit: "\(grouped(maximumPixels)) pixels")
        }
        if info.isProgressive, info.size.pixelCount > maximumProgressivePixels {
            let limit = "\(grouped(maximumProgressivePixels)) pixels for a progressive picture"
            throw .tooLarge(size: info.size, limit: limit)
        }
    }

    /// Checks the pixels of all frames together.
    ///
    /// - Parameter size: the decoded size of a frame.
    func check(frames: Int, of size: PixelSize) throws(ImagingError) {
        let (pixels, overflows) = size.pixelCount.multipliedReportingOverflow(by: frames)
        // A picture of one frame was checked by its header.
        guard frames > 1, overflows || pixels > maximumPixels else { return }
        throw .tooManyFrames(frames, size: size, limit: "\(grouped(maximumPixels)) pixels")
    }

    func check(_ format: ImageFormat) throws(ImagingError) {
        guard allowedFormats.contains(format) else {
            throw .formatNotAllowed(format, allowed: allowedFormats)
        }
    }
}

/// `1234567` as `1,234,567`.
private func grouped(_ number: Int) -> String {
    let digits = String(number)
    var result = ""
    for (index, digit) in digits.enumerated() {
        if index > 0, digit.isNumber, (digits.count - index).isMultiple(of: 3) {
            result.append(",")
        }
        result.append(digit)
    }
    return result
}
#endif
