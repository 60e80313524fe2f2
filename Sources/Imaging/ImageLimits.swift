/// What a picture may claim in its header before any of its pixels are decoded.
///
/// A few kilobytes can describe a picture that takes gigabytes. The limits are checked against the
/// header alone, so such a file costs less than a millisecond.
public struct ImageLimits: Sendable, Hashable {
    /// Most pixels (width × height) of one frame. 100 million by default.
    public var maximumPixels: Int

    /// Most pixels of a progressive JPEG or an interlaced PNG. 60 million by default.
    ///
    /// These cannot be decoded in strips: the whole picture is in memory at once, about 3 bytes a
    /// pixel for PNG and up to 6 for JPEG.
    public var maximumProgressivePixels: Int

    /// Longest side in pixels. 30,000 by default.
    public var maximumSide: Int

    /// Formats that are read at all.
    ///
    /// HEIF and AVIF are not among the default ones: their decoders have the worst security record
    /// of all, so reading them is a decision.
    public var allowedFormats: Set<ImageFormat>

    /// The default limits.
    public static let standard = ImageLimits()

    /// Limits that differ from the default ones only in what is named.
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
            throw .tooLarge(size: info.size, limit: "\(grouped(maximumSide)) pixels a side")
        }
        if info.size.pixelCount > maximumPixels {
            throw .tooLarge(size: info.size, limit: "\(grouped(maximumPixels)) pixels")
        }
        if info.isProgressive, info.size.pixelCount > maximumProgressivePixels {
            let limit = "\(grouped(maximumProgressivePixels)) pixels for a progressive picture"
            throw .tooLarge(size: info.size, limit: limit)
        }
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
