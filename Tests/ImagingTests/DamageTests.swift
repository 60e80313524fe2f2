import Imaging
import TestSupport
import Testing

/// JPEGs that a decoder fills up with grey, and others that only look as if they were damaged.
@Suite(.ownThreads) struct DamageTests {
    private static let endMark: [UInt8] = [0xFF, 0xD9]
    private static let scanMark: [UInt8] = [0xFF, 0xDA]

    struct Sample: Sendable, CustomTestStringConvertible {
        let name: String
        let file: [UInt8]
        var testDescription: String { name }
    }

    private static let whole = [
        Sample(
            name: "baseline", file: (try? Pictures.file(.jpeg, width: 400, height: 300)) ?? []),
        Sample(name: "with restart marks", file: SmallJPEGs.withRestarts),
        Sample(name: "progressive", file: SmallJPEGs.progressive),
    ]

    private func expectDamage(_ file: [UInt8], _ what: String) {
        for box in [nil, PixelSize(width: 30, height: 30), PixelSize(width: 8, height: 8)] {
            let error = #expect(throws: ImagingError.self, "\(what)") {
                try ImageEngine.decode(file, fitting: box)
            }
            #expect(error?.isDecodeFailure == true, "\(what)")
        }
    }

    /// Where a mark stands; in compressed data none of these does.
    private func places(of mark: [UInt8], in file: [UInt8]) -> [Int] {
        file.indices.filter { file[$0...].starts(with: mark) }
    }

    @Test(arguments: whole, [0.3, 0.5, 0.7, 0.9, 0.97])
    func aFileCutShortIsDamagedAlsoWithAnEndMark(_ whole: Sample, at share: Double) throws {
        let data = try #require(places(of: Self.scanMark, in: whole.file).first) + 14
        let cut = data + Int(Double(whole.file.count - data) * share)
        expectDamage(Array(whole.file[..<cut]) + Self.endMark, "\(whole.name) at \(share)")
    }

    @Test(arguments: whole)
    func aHeaderLargerThanTheDataIsDamage(_ whole: Sample) throws {
        var file = whole.file
        let frame = try #require(
            [0xC0, 0xC2].flatMap { places(of: [0xFF, $0, 0, 17, 8], in: file) }.first)
        let height = 2 * (Int(file[frame + 5]) << 8 | Int(file[frame + 6]))
        file[frame + 5] = UInt8(height >> 8)
        file[frame + 6] = UInt8(height & 0xFF)
        expectDamage(file, whole.name)
    }

    @Test func aProgressiveFileThatEndsBetweenTwoScansIsDamaged() throws {
        let file = SmallJPEGs.progressive
        let scans = places(of: Self.scanMark, in: file)
        #expect(scans.count == 10)
        for (number, scan) in scans.enumerated().dropFirst() {
            expectDamage(Array(file[..<scan]) + Self.endMark, "\(number) scans")
        }
    }

    @Test func aRestartMarkThatIsMissingIsDamage() throws {
        var file = SmallJPEGs.withRestarts
        let mark = try #require(places(of: [0xFF, 0xD2], in: file).first)
        file.removeSubrange(mark..<mark + 2)
        expectDamage(file, "without the third restart mark")
    }

    /// Files as cameras, phones and editors leave them: whole, with faults that decoders warn of or
    /// ignore.
    private static var harmless: [Sample] {
        get throws {
            var files: [Sample] = []
            for sample in whole {
                let (name, file) = (sample.name, sample.file)
                func add(_ what: String, _ change: (inout [UInt8]) throws -> Void) rethrows {
                    var changed = file
                    try change(&changed)
                    files.append(Sample(name: "\(name), \(what)", file: changed))
                }
                let scan = try #require(
                    file.indices.first { file[$0...].starts(with: scanMark) })
                add("untouched") { _ in }
                add("bytes before the end mark") {
                    $0.insert(contentsOf: [1, 2, 3], at: $0.count - 2)
                }
                add("zeros before the end mark") {
                    $0.insert(contentsOf: [UInt8](repeating: 0, count: 40), at: $0.count - 2)
                }
                add("bytes before the first scan") { $0.insert(contentsOf: [7, 7, 7], at: scan) }
                add("fill bytes before a marker") {
                    $0.insert(contentsOf: [0xFF, 0xFF, 0xFF], at: scan)
                }
                add("text behind the end mark") { $0 += Array("made with love".utf8) }
                add("a second picture behind the end mark") { $0 += file }
                add("half a picture behind the end mark") { $0 += file.prefix(file.count / 2) }
                if file[6..<10].elementsEqual("JFIF".utf8) {
                    add("a later version of JFIF") { $0[11] = 9 }
                }
                add("an Adobe mark with an unknown transform") {
                    $0.insert(
                        contentsOf: [0xFF, 0xEE, 0, 14] + Array("Adobe".utf8)
                            + [0, 100, 0, 0, 0, 0, 7], at: 2)
                }
                add("a preview with marks of its own") {
                    let body = Array("Exif\0\0".utf8) + file.prefix(900) + endMark
                    let length = body.count + 2
                    $0.insert(
                        contentsOf: [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)] + body,
                        at: 2)
                }
                if !name.hasPrefix("progressive") {
                    // As some phones write it: it says of a baseline scan what only progressive
                    // ones have.
                    add("a scan with a spectrum") { $0[scan + 11...scan + 13] = [0, 0, 0] }
                }
            }
            return files
        }
    }

    @Test func filesWithHarmlessFaultsAreDecodedAsIfTheyHadNone() throws {
        let files = try Self.harmless
        #expect(files.count == 34)
        for sample in files {
            let name = sample.name
            let original = try #require(Self.whole.first { name.hasPrefix($0.name) })
            for box in [nil, PixelSize(width: 30, height: 30)] {
                let expected = try ImageEngine.decode(original.file, fitting: box)
                do {
                    let decoded = try ImageEngine.decode(sample.file, fitting: box)
                    #expect(decoded.size == expected.size, "\(name)")
                    // What the colours mean may be said by the marker that was added.
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

    @Test func damageIsToldInWords() throws {
        let file = SmallJPEGs.withRestarts
        let cut = Array(file.prefix(file.count * 3 / 4)) + Self.endMark
        let error = #expect(throws: ImagingError.self) { try ImageEngine.decode(cut) }
        #expect(error?.description.contains("missing or damaged") == true)
    }
}
