import Foundation
import OperationsTestSupport
import PhotoImaging
import Testing

/// Files made by machine from good ones: cut, with changed bits, with false sizes, with too many
/// frames or scans. Each is decoded or refused with a typed error, within limits of pixels and of
/// processor time.
@Suite(.ownThreads, .timeLimit(.minutes(15))) struct HostileVariationTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let format: ImageFormat
        let file: [UInt8]
        var testDescription: String { format.rawValue }
    }

    private static let written = ImageFormat.always.map {
        Sample(format: $0, file: (try? Pictures.file($0, width: 240, height: 180)) ?? [])
    }

    /// HEIF and AVIF come from files, because their encoders are optional.
    private static let all =
        written + [
            Sample(format: .heif, file: HEIFFiles.heic),
            Sample(format: .avif, file: HEIFFiles.avif),
            Sample(format: .jpeg, file: SmallJPEGs.progressive),
            Sample(format: .jpeg, file: SmallJPEGs.withRestarts),
        ]

    private static let limits: ImageLimits = {
        var limits = ImageLimits.ownFiles
        limits.maximumPixels = 1_000_000
        limits.maximumProgressivePixels = 1_000_000
        return limits
    }()

    /// Decodes with everything that can be kept, at the full size and in a small box.
    ///
    /// - Returns: the error of the full size; nil if the file was decoded.
    @discardableResult
    private func decode(_ file: [UInt8], _ comment: Comment) -> ImagingError? {
        var problem: ImagingError?
        for box in [PixelSize(width: 40, height: 40), nil] {
            let cancellation = ImagingCancellation(processorTime: .seconds(10))
            do throws(ImagingError) {
                let bitmap = try ImageEngine.decode(
                    file, fitting: box, keeping: .all, limits: Self.limits,
                    cancellation: cancellation)
                #expect(bitmap.size.pixelCount <= Self.limits.maximumPixels, comment)
                problem = nil
            } catch {
                #expect(error != .timedOut && error != .outOfMemory, comment)
                problem = error
            }
        }
        return problem
    }

    // MARK: Cut and changed files

    @Test(arguments: written)
    func fileCutAnywhereIsRefused(sample: Sample) {
        for percent in 0..<100 {
            let count = sample.file.count * percent / 100
            let error = decode(Array(sample.file[..<count]), "\(percent) %")
            #expect(error != nil, "\(percent) %")
        }
    }

    @Test(arguments: all)
    func changedBitsAreHandled(sample: Sample) {
        var random = SeededGenerator(seed: 42)
        for round in 0..<60 {
            var file = sample.file
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                // Headers matter most, so every other change is near the beginning.
                let end = Bool.random(using: &random) ? min(64, file.count) : file.count
                let place = Int.random(in: 4..<end, using: &random)
                file[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            decode(file, "round \(round)")
        }
    }

    @Test(arguments: all)
    func removedAndRepeatedBytesAreHandled(sample: Sample) {
        var random = SeededGenerator(seed: 7)
        for round in 0..<40 {
            var file = sample.file
            let start = Int.random(in: 12..<file.count, using: &random)
            let end = Int.random(in: start...min(start + 200, file.count), using: &random)
            if Bool.random(using: &random) {
                file.removeSubrange(start..<end)
            } else {
                file.insert(contentsOf: file[start..<end], at: start)
            }
            decode(file, "round \(round)")
        }
    }

    // MARK: Sizes

    @Test(arguments: all)
    func everyFormatHasTheLimitOfPixels(sample: Sample) throws {
        let size = try ImageEngine.inspect(sample.file, limits: .ownFiles).size
        var limits = ImageLimits.ownFiles
        limits.maximumPixels = size.pixelCount - 1
        let error = #expect(throws: ImagingError.self) {
            try ImageEngine.decode(sample.file, limits: limits)
        }
        guard case .tooLarge(size, _) = error else {
            Issue.record("\(String(describing: error)) is not the error for a size")
            return
        }
    }

    /// A screen, a canvas or a frame that is larger than the data.
    @Test func falseSizesAreRefused() throws {
        let heif = [HEIFFiles.heic, HEIFFiles.avif].map { file in
            var file = file
            let side = HostileFiles.bigEndian(60_000)
            // The box of a size: a version, the width and the height.
            for range in file.ranges(of: Array("ispe".utf8)) {
                let sides = range.upperBound + 4..<range.upperBound + 12
                file.replaceSubrange(sides, with: side + side)
            }
            return file
        }
        let canvas: [UInt8] =
            Array("RIFF".utf8) + [22, 0, 0, 0] + Array("WEBPVP8X".utf8)
            + [10, 0, 0, 0, 2, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
        let files = [
            heif[0], heif[1], canvas,
            HostileFiles.png(width: 0x7FFF_FFFF, height: 0x7FFF_FFFF),
            HostileFiles.png(width: 0, height: 10), HostileFiles.png(width: 900, height: 900),
            HostileFiles.jpeg(width: 65_500, height: 65_500),
            HostileFiles.jpeg(width: 0, height: 10), HostileFiles.jpeg(width: 900, height: 900),
        ]
        for (index, file) in files.enumerated() {
            #expect(decode(file, "file \(index)") != nil, "file \(index)")
        }
    }

    @Test func largeScreenOfSmallGIFIsWithinLimits() {
        var gif = SmallGIF.file([1])
        gif[6..<10] = [0xFF, 0xFF, 0xFF, 0xFF]
        // Readers disagree on whether the screen or the frame is the picture.
        decode(gif, "a large screen")
    }

    // MARK: Frames and scans

    /// Each frame is a dozen bytes, and the screen is large.
    private func animation(frames: Int) -> [UInt8] {
        let head = Array("GIF89a".utf8) + [0xE8, 3, 0xE8, 3, 0x80, 0, 0, 0, 0, 0, 255, 255, 255]
        let frame: [UInt8] = [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]
        return head + Array([[UInt8]](repeating: frame, count: frames).joined()) + [0x3B]
    }

    @Test func hundredThousandFramesAreRefused() throws {
        let file = animation(frames: 100_000)
        let size = PixelSize(width: 1000, height: 1000)
        let error = #expect(throws: ImagingError.self) {
            try ImageEngine.decode(file, keeping: .frames)
        }
        // libvips counts no further than some thousands.
        guard case .tooManyFrames(1000..., size, _) = error else {
            Issue.record("\(String(describing: error)) is not the error for frames")
            return
        }
        // Without its frames, it is a picture like others.
        #expect(try ImageEngine.decode(file).size == size)
    }

    @Test func circleOfPagesEnds() {
        var file = SmallTIFF.file([10, 20])
        // The directory of the second page follows the first page; its link leads to the first.
        let second = 8 + 2 + 11 * 12 + 4 + 16 * 8 * 3
        let link = second + 2 + 11 * 12
        file[link..<link + 4] = [0, 0, 0, 8]
        decode(file, "a circle")
    }

    @Test(arguments: [200, 20_000])
    func manyScansAreRefusedAtOnce(scans: Int) throws {
        let whole = SmallJPEGs.progressive
        let start = try #require(whole.ranges(of: [0xFF, 0xDA] as [UInt8]).last?.lowerBound)
        let scan = whole[start..<whole.count - 2]
        let repeated = Array([ArraySlice<UInt8>](repeating: scan, count: scans).joined())
        let file = Array(whole[..<start]) + repeated + [0xFF, 0xD9]
        let cancellation = ImagingCancellation(processorTime: .seconds(1))
        for acceptsDamage in [false, true] {
            let error = #expect(throws: ImagingError.self) {
                try ImageEngine.decode(
                    file, acceptingDamage: acceptsDamage, cancellation: cancellation)
            }
            #expect(error?.isDecodeFailure == true)
        }
    }

    @Test func nothingIsLeftInTheTemporaryFolder() throws {
        for sample in Self.all {
            decode(Array(sample.file.prefix(sample.file.count / 2)), "\(sample)")
            decode(sample.file, "\(sample)")
        }
        // libvips calls its own files so.
        let names = try FileManager.default.contentsOfDirectory(atPath: NSTemporaryDirectory())
        #expect(names.filter { $0.hasPrefix("vips-") } == [])
    }
}
