import OperationsTestSupport
import Testing

@testable import Landscapes

@Suite(.ownThreads)
struct LandscapeTests {
    @Test(arguments: 0..<17)
    func sameIndexGivesSameBytes(index: Int) {
        let first = Landscape(index: index, longestSide: 40).rgb()
        let second = Landscape(index: index, longestSide: 40).rgb()
        #expect(first == second)
        #expect(!first.isEmpty)
    }

    @Test(arguments: 0..<17)
    func pixelsFillPictureAndVary(index: Int) {
        let picture = Landscape(index: index, longestSide: 48)
        let pixels = picture.rgb()
        #expect(pixels.count == picture.width * picture.height * 3)
        #expect(Set(pixels).count > 40, "\(picture.name) uses only \(Set(pixels).count) levels")
    }

    @Test func firstRoundShowsEverySubjectOnce() {
        let subjects = (0..<Subject.allCases.count).map { Landscape(index: $0).subject }
        #expect(Set(subjects) == Set(Subject.allCases))
    }

    @Test func namesAreUnique() {
        let names = (0..<2000).map { Landscape(index: $0).name }
        #expect(Set(names).count == names.count)
    }

    @Test func compositionsOf240PicturesDiffer() {
        // Coarse thumbnails with 4 × 4 cells and four levels per channel: pictures that differ only
        // in grain or slightly in color have equal thumbnails.
        let prints = (0..<240).map { thumbnail(Landscape(index: $0, longestSide: 24)) }
        #expect(Set(prints).count >= 225)
    }

    @Test func cameraSizesAreLargeAndVaried() {
        let pictures = (0..<240).map { Landscape(index: $0) }
        #expect(pictures.allSatisfy { $0.width * $0.height >= 1_400_000 })
        #expect(pictures.contains { $0.width == 1600 && $0.height == 1200 })
        #expect(pictures.filter { $0.height > $0.width }.count > 40)
        #expect(Set(pictures.map { [$0.width, $0.height] }).count >= 8)
    }

    @Test func longestSideKeepsAspectRatio() {
        let picture = Landscape(index: 0, longestSide: 320)
        let full = Landscape(index: 0)
        #expect(max(picture.width, picture.height) == 320)
        let (small, large) = (
            Double(picture.width) / Double(picture.height), Double(full.width) / Double(full.height)
        )
        #expect(abs(small - large) < 0.02)
    }

    @Test(arguments: Subject.allCases)
    func everySubjectRendersAtEveryTimeAndSize(subject: Subject) {
        for time in subject.times {
            for (width, height) in [(8, 8), (37, 11), (9, 40)] {
                for seed in 0..<3 as Range<UInt64> {
                    let canvas = Canvas(width: width, height: height)
                    var painter = Painter(canvas: canvas, time: time, seed: seed)
                    painter.paint(subject)
                    let bytes = painter.film.developed(canvas, seed: seed)
                    #expect(bytes.count == width * height * 3)
                    let finite = (0..<width * height).allSatisfy {
                        canvas.pixels[$0].sum().isFinite
                    }
                    #expect(
                        finite,
                        "\(subject) at \(time), seed \(seed), has a pixel that is not finite")
                }
            }
        }
    }

    private func thumbnail(_ picture: Landscape) -> [UInt8] {
        let pixels = picture.rgb()
        var cells = [Int](repeating: 0, count: 48)
        var counts = [Int](repeating: 0, count: 48)
        for y in 0..<picture.height {
            for x in 0..<picture.width {
                let cell = (y * 4 / picture.height) * 4 + x * 4 / picture.width
                for channel in 0..<3 {
                    cells[cell * 3 + channel] += Int(pixels[(y * picture.width + x) * 3 + channel])
                    counts[cell * 3 + channel] += 1
                }
            }
        }
        return zip(cells, counts).map { UInt8($0 / $1 / 64) }
    }
}
