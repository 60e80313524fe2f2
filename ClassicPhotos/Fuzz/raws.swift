/// Reads any bytes as a camera's raw file, and its fields with libexif.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRaws(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    guard let raw = RawFile(input) else { return 0 }
    let block = raw.exif.bytes
    // A segment has at most 65,533 bytes, with the mark before the block.
    precondition(block.count < 65_000 && TIFFReader(block) != nil)
    if let jpeg = raw.jpeg, let picture = raw.picture {
        precondition(input.indices.contains(jpeg.range) && jpeg.size.pixelCount > 0)
        precondition(picture.count <= jpeg.range.count + block.count + 10)
        precondition(EmbeddedJPEG(in: picture, at: picture.indices)?.size == jpeg.size)
    }
    precondition((try? ImageEngine.exif(of: input, limits: .ownFiles)) != nil)
    return 0
}
