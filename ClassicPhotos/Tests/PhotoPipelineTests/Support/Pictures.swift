import Imaging

/// A JPEG of one colour.
func jpeg(width: Int = 64, height: Int = 48, grey: UInt8 = 128) throws -> [UInt8] {
    try encoded(as: .jpeg, width: width, height: height, grey: grey)
}

func encoded(
    as format: ImageFormat, width: Int = 64, height: Int = 48, grey: UInt8 = 128
) throws -> [UInt8] {
    let pixels = [UInt8](repeating: grey, count: width * height * 3)
    let bitmap = try Bitmap(size: PixelSize(width: width, height: height), pixels: pixels)
    return try ImageEngine.encode(bitmap, as: format, quality: 90).bytes
}
