public import PhotoImaging

/// A JPEG of one color.
public func jpeg(
    width: Int = 64, height: Int = 48, gray: UInt8 = 128
) throws -> [UInt8] {
    try encoded(as: .jpeg, width: width, height: height, gray: gray)
}

/// A picture of one color.
public func encoded(
    as format: ImageFormat, width: Int = 64, height: Int = 48, gray: UInt8 = 128
) throws -> [UInt8] {
    let pixels = [UInt8](repeating: gray, count: width * height * 3)
    let bitmap = try Bitmap(size: PixelSize(width: width, height: height), pixels: pixels)
    return try ImageEngine.encode(bitmap, as: format, quality: 90).bytes
}
