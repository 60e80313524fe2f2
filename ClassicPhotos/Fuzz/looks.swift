/// Reads any bytes as a `.cube` file, and applies the look to bitmaps of both depths.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzLooks(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    do throws(ImagingError) {
        let look = try Look(cube: input)
        let copy = try Look(cube: Array(look.cubeText.utf8))
        precondition(copy == look)
        let size = PixelSize(width: 16, height: 16)
        let levels = (0..<16 * 16 * 3).map { $0 * 37 % 256 }
        let bitmaps = [
            try Bitmap(size: size, pixels: levels.map { UInt8($0) }),
            try Bitmap(size: size, samples: levels.map { UInt16($0 * 257) }),
        ]
        for bitmap in bitmaps {
            let result = try ImageEngine.apply([.look(look, intensity: 0.7)], to: bitmap)
            precondition(result.byteCount == bitmap.byteCount)
        }
    } catch {
        guard case .invalidLook(let line, let problem) = error else { preconditionFailure() }
        precondition(line <= count + 1 && !problem.isEmpty && !error.description.isEmpty)
    }
    return 0
}
