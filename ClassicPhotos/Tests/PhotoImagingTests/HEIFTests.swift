import Foundation
import OperationsTestSupport
@_spi(ClassicPhotos) import PhotoImaging
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct HEIFTests {
    private static let files: [(ImageFormat, [UInt8])] = [
        (.heif, HEIFFiles.heic), (.avif, HEIFFiles.avif),
    ]

    @Test(arguments: files)
    func fileIsDecoded(format: ImageFormat, bytes: [UInt8]) throws {
        let info = try ImageEngine.inspect(bytes, limits: .ownFiles)
        #expect(info.format == format && info.size == PixelSize(width: 64, height: 48))
        #expect(info.metadataKinds == [.exif, .xmp])
        let bitmap = try ImageEngine.decode(bytes, limits: .ownFiles)
        // The picture was made of red that grows to the right, green that grows downwards and blue
        // that shrinks to the right.
        #expect(largestDifference(bitmap.pixel(4, 4), [16, 20, 243]) < 40)
        #expect(largestDifference(bitmap.pixel(60, 44), [240, 220, 75]) < 40)
        let small = try ImageEngine.decode(
            bytes, fitting: PixelSize(width: 32, height: 32), limits: .ownFiles)
        #expect(small.size == PixelSize(width: 32, height: 24))
    }

    @Test(arguments: files)
    func downloadsAreRefusedUnlessAllowed(format: ImageFormat, bytes: [UInt8]) {
        let allowed = ImageLimits.standard.allowedFormats
        #expect(throws: ImagingError.formatNotAllowed(format, allowed: allowed)) {
            try ImageEngine.decode(bytes)
        }
    }

    @Test(arguments: files)
    func limitsApply(format: ImageFormat, bytes: [UInt8]) {
        var limits = ImageLimits.ownFiles
        limits.maximumPixels = 64 * 48 - 1
        let size = PixelSize(width: 64, height: 48)
        #expect(throws: ImagingError.tooLarge(size: size, limit: "3,071 pixels")) {
            try ImageEngine.decode(bytes, limits: limits)
        }
    }

    @Test(arguments: files, [0.1, 0.5, 0.9])
    func truncatedFileThrows(file: (format: ImageFormat, bytes: [UInt8]), share: Double) {
        let part = Array(file.bytes.prefix(Int(Double(file.bytes.count) * share)))
        let error = #expect(throws: ImagingError.self) {
            try ImageEngine.decode(part, limits: .ownFiles)
        }
        #expect(error?.isDecodeFailure == true)
    }

    /// The stream `stderr` belongs to the program, whatever a library decodes.
    @Test func standardErrorStaysAsItIs() async {
        await #expect(processExitsWith: .success) {
            guard let address = dlsym(nil, "stderr") else { exit(3) }
            let stream = address.assumingMemoryBound(to: OpaquePointer?.self)
            let before = stream.pointee
            for bytes in [HEIFFiles.heic, HEIFFiles.avif] {
                guard (try? ImageEngine.decode(bytes, limits: .ownFiles)) != nil else { exit(4) }
            }
            guard stream.pointee == before else { exit(5) }
        }
    }

    /// The decoders write lines without the name of a file to `stderr`. Everything else that is
    /// written there still arrives.
    @Test func decodersWriteNothingToStandardError() async throws {
        let result = try await #require(
            processExitsWith: .success, observing: [\.standardErrorContent]
        ) {
            ImageEngine.dropDecoderMessages()
            // The changed bits make libde265 write "SPS error", and dav1d "Error parsing OBU data".
            for (file, index, bit) in [
                (HEIFFiles.heic, 417, 2), (HEIFFiles.avif, 409, 4), (HEIFFiles.avif, 409, 16),
            ] {
                var bytes = file
                bytes[index] ^= UInt8(bit)
                _ = try? ImageEngine.decode(bytes, limits: .ownFiles)
            }
            errno = ENOENT
            perror("own")
        }
        let text = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(text == "own: No such file or directory\n")
    }

    @Test(arguments: [(ImageFormat.heif, HEIFFiles.heic10), (.avif, HEIFFiles.avif12)])
    func depthIsKept(format: ImageFormat, bytes: [UInt8]) throws {
        #expect(try ImageEngine.inspect(bytes, limits: .ownFiles).bitsPerChannel == 16)
        let deep = try ImageEngine.decode(bytes, keeping: .depth, limits: .ownFiles)
        #expect(deep.bitsPerChannel == 16)
        #expect(Set(deep.samples()).count > 256, "More levels than 8 bits have.")
        let shallow = try ImageEngine.decode(bytes, limits: .ownFiles)
        #expect(shallow.bitsPerChannel == 8)
        #expect(largestDifference(deep.reduced(), shallow.pixels()) <= 1)
        let again = try ImageEngine.encode(deep, as: format, quality: 90)
        let info = try ImageEngine.inspect(again.bytes, limits: .ownFiles)
        #expect(info.bitsPerChannel == 16)
    }

    @Test(arguments: [ImageFormat.heif, .avif])
    func encodedFileIsReadAgain(format: ImageFormat) throws {
        let picture = try Pictures.colorful(width: 120, height: 80)
        let file = try ImageEngine.encode(picture, as: format, quality: 95)
        #expect(ImageFormat(detecting: file.bytes) == format)
        let decoded = try ImageEngine.decode(file.bytes, limits: .ownFiles)
        let mean =
            zip(decoded.pixels(), picture.pixels()).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
            / picture.byteCount
        #expect(mean <= 6, "The texture is noise, so single pixels differ.")
    }

    @Test(arguments: files, [ImageFormat.heif, .avif, .jpeg, .png, .webp])
    func metadataIsKept(file: (format: ImageFormat, bytes: [UInt8]), target: ImageFormat) throws {
        let bitmap = try ImageEngine.decode(file.bytes, keeping: .all, limits: .ownFiles)
        let result = try ImageEngine.encode(bitmap, as: target)
        let info = try ImageEngine.inspect(result.bytes, limits: .ownFiles)
        #expect(info.metadataKinds == [.exif, .xmp])
        #expect(result.bytes.contains("Camera"))
        // PNG compresses the packet.
        #expect(target == .png || result.bytes.contains("Holiday"))
        // The file says that it has to be turned, which its container does not repeat and which
        // programs therefore ignore.
        #expect(info.orientation == 1 && info.size == bitmap.size)
    }
}
