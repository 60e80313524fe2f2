import OperationsTestSupport
import PhotoImaging
import Testing

/// Damaged JPEGs, which a lenient decoder would fill with gray, and JPEGs with harmless faults.
@Suite(.ownThreads) struct DamageTests {
    private static let endMarker: [UInt8] = [0xFF, 0xD9]
    private static let scanMarker: [UInt8] = [0xFF, 0xDA]

    struct Sample: Sendable, CustomTestStringConvertible {
        let name: String
        let file: [UInt8]
        var testDescription: String { name }
    }

    private static let whole = [
        Sample(
            name: "baseline", file: (try? Pictures.file(.jpeg, width: 400, height: 300)) ?? []),
        Sample(name: "with restart markers", file: SmallJPEGs.withRestarts),
        Sample(name: "progressive", file: SmallJPEGs.progressive),
    ]

    private func expectDamage(_ file: [UInt8], _ description: String) {
        for box in [nil, PixelSize(width: 30, height: 30), PixelSize(width: 8, height: 8)] {
            let error = #expect(throws: ImagingError.self, "\(description)") {
                try ImageEngine.decode(file, fitting: box)
            }
            #expect(error?.isDecodeFailure == true, "\(description)")
        }
    }

    /// The positions of a marker. None of these markers occurs in compressed data.
    private func positions(of marker: [UInt8], in file: [UInt8]) -> [Int] {
        file.indices.filter { file[$0...].starts(with: marker) }
    }

    @Test(arguments: whole, [0.3, 0.5, 0.7, 0.9, 0.97])
    func truncatedFileWithEndMarkerIsDamaged(_ whole: Sample, at share: Double) throws {
        let data = try #require(positions(of: Self.scanMarker, in: whole.file).first) + 14
        let cut = data + Int(Double(whole.file.count - data) * share)
        expectDamage(Array(whole.file[..<cut]) + Self.endMarker, "\(whole.name) at \(share)")
    }

    @Test(arguments: whole)
    func headerLargerThanDataIsDamage(_ whole: Sample) throws {
        var file = whole.file
        let frame = try #require(
            [0xC0, 0xC2].flatMap { positions(of: [0xFF, $0, 0, 17, 8], in: file) }.first)
        let height = 2 * (Int(file[frame + 5]) << 8 | Int(file[frame + 6]))
        file[frame + 5] = UInt8(height >> 8)
        file[frame + 6] = UInt8(height & 0xFF)
        expectDamage(file, whole.name)
    }

    @Test func progressiveFileEndingBetweenScansIsDamaged() throws {
        let file = SmallJPEGs.progressive
        let scans = positions(of: Self.scanMarker, in: file)
        #expect(scans.count == 10)
        for (number, scan) in scans.enumerated().dropFirst() {
            expectDamage(Array(file[..<scan]) + Self.endMarker, "\(number) scans")
        }
    }

    @Test func missingRestartMarkerIsDamage() throws {
        var file = SmallJPEGs.withRestarts
        let marker = try #require(positions(of: [0xFF, 0xD2], in: file).first)
        file.removeSubrange(marker..<marker + 2)
        expectDamage(file, "without the third restart marker")
    }

    /// Complete files with faults that cameras, phones and editors produce, and that decoders warn
    /// about or ignore.
    private static var harmless: [Sample] {
        get throws {
            var files: [Sample] = []
            for sample in whole {
                let (name, file) = (sample.name, sample.file)
                func add(_ fault: String, _ change: (inout [UInt8]) throws -> Void) rethrows {
                    var changed = file
                    try change(&changed)
                    files.append(Sample(name: "\(name), \(fault)", file: changed))
                }
                let scan = try #require(
                    file.indices.first { file[$0...].starts(with: scanMarker) })
                add("untouched") { _ in }
                add("bytes before the end marker") {
                    $0.insert(contentsOf: [1, 2, 3], at: $0.count - 2)
                }
                add("zeros before the end marker") {
                    $0.insert(contentsOf: [UInt8](repeating: 0, count: 40), at: $0.count - 2)
                }
                add("bytes before the first scan") { $0.insert(contentsOf: [7, 7, 7], at: scan) }
                add("fill bytes before a marker") {
                    $0.insert(contentsOf: [0xFF, 0xFF, 0xFF], at: scan)
                }
                add("text after the end marker") { $0 += Array("made with love".utf8) }
                add("a second picture after the end marker") { $0 += file }
                add("half a picture after the end marker") { $0 += file.prefix(file.count / 2) }
                if file[6..<10].elementsEqual("JFIF".utf8) {
                    add("a later version of JFIF") { $0[11] = 9 }
                }
                add("an Adobe marker with an unknown transform") {
                    $0.insert(
                        contentsOf: [0xFF, 0xEE, 0, 14] + Array("Adobe".utf8)
                            + [0, 100, 0, 0, 0, 0, 7], at: 2)
                }
                add("a preview with its own markers") {
                    let body = Array("Exif\0\0".utf8) + file.prefix(900) + endMarker
                    let length = body.count + 2
                    $0.insert(
                        contentsOf: [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)] + body,
                        at: 2)
                }
                if !name.hasPrefix("progressive") {
                    // Some phones write this: a baseline scan with the spectral selection of a
                    // progressive scan.
                    add("a scan with a spectrum") { $0[scan + 11...scan + 13] = [0, 0, 0] }
                }
            }
            return files
        }
    }

    @Test func harmlessFaultsDoNotChangePixels() throws {
        let files = try Self.harmless
        #expect(files.count == 35)
        for sample in files {
            let name = sample.name
            let original = try #require(Self.whole.first { name.hasPrefix($0.name) })
            for box in [nil, PixelSize(width: 30, height: 30)] {
                let expected = try ImageEngine.decode(original.file, fitting: box)
                do {
                    let decoded = try ImageEngine.decode(sample.file, fitting: box)
                    #expect(decoded.size == expected.size, "\(name)")
                    // The added Adobe marker may change the meaning of the colors.
                    if !name.contains("Adobe") {
                        let isSame = decoded.pixels() == expected.pixels()
                        #expect(isSame, "\(name)")
                    }
                } catch {
                    Issue.record("\(name): \(error)")
                }
            }
        }
    }

    @Test func errorDescribesDamage() throws {
        let file = SmallJPEGs.withRestarts
        let cut = Array(file.prefix(file.count * 3 / 4)) + Self.endMarker
        let error = #expect(throws: ImagingError.self) { try ImageEngine.decode(cut) }
        #expect(error?.description.contains("missing or damaged") == true)
    }
}
