import OperationsTestSupport
import PhotoLibrary
import Testing

@testable import classicphotos

@Suite(.ownThreads)
struct ProgressLineTests {
    private func line(
        total: Int = 200, done: Int, failed: Int = 0, seconds: Double, width: Int = 79
    ) -> String {
        ProgressLine(total: total, done: done, failed: failed, seconds: seconds).text(width: width)
    }

    @Test func lineShowsCountsRateAndTimeLeft() {
        let text = line(done: 95, failed: 5, seconds: 10)
        #expect(text.hasSuffix(" 100/200  5 failed  10 photos/s  10 s left"))
        #expect(text.hasPrefix("▕███"))
        #expect(text.count <= 79)
    }

    @Test func rateIsHiddenAtFirst() {
        #expect(line(done: 1, seconds: 0.1).hasSuffix("▏ 1/200"))
    }

    @Test func barFillsUp() {
        #expect(line(total: 8, done: 8, seconds: 0.1, width: 16).contains("████"))
        #expect(!line(total: 8, done: 0, seconds: 0.1).contains("█"))
        #expect(line(total: 0, done: 0, seconds: 0.1).hasSuffix(" 0/0"))
    }

    @Test(arguments: 1...120)
    func lineFitsTerminalWidth(width: Int) {
        #expect(line(done: 95, failed: 5, seconds: 10_000, width: width).count <= width)
    }

    @Test func timesUseReadableUnits() {
        #expect(ProgressLine.time(59.2) == "60 s" || ProgressLine.time(59.2) == "1 min 0 s")
        #expect(ProgressLine.time(61) == "1 min 1 s")
        #expect(ProgressLine.time(7_260) == "2 h 1 min")
        #expect(ProgressLine.rate(3.14) == "3.1 photos/s")
        #expect(ProgressLine.rate(31.4) == "31 photos/s")
    }

    /// A person wants to know which photos have lost something.
    @Test func remarksNamePhotos() {
        var remarked = ProgressReport.Remarked()
        remarked.add("a.gif")
        #expect(
            remarked.line(.firstFrameOnly) == "1 animated picture: first frame only (a.gif).")
        for name in ["b\n.gif", "c.gif", "d.gif", "e.gif"] { remarked.add(name) }
        let text = remarked.line(.firstFrameOnly)
        #expect(text.hasPrefix("5 animated pictures: first frame only (a.gif, b"))
        #expect(text.hasSuffix(", c.gif and 2 more).") && !text.contains("\n"))
    }
}
