import OperationsTestSupport
import PhotoImaging
import Testing

@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The sections and the proportions by which a page lays out the photos of a folder.
@Suite(.ownThreads) struct PhotoIndexArrangementTests {
    private func contents(_ names: [String]) -> PhotoCatalog.Contents {
        PhotoCatalog.Contents(
            names.enumerated().map { index, name in
                PhotoRecord(
                    id: PhotoID(rawValue: UInt64(index)), name: name,
                    url: URL(filePath: "/nowhere/\(index).jpg", directoryHint: .notDirectory))
            })
    }

    private func sections(_ arrangement: PhotoArrangement) -> String {
        arrangement.sections.map { "\($0.name) \($0.count)" }.joined(separator: ", ")
    }

    @Test func photosOfFolderStandTogether() {
        let names = ["b/1", "c", "b/a/2", "b 10/3", "a", "b/4", "b 9/5"]
        let contents = contents(names)
        let index = PhotoIndex()
        for key in [PhotoIndex.SortKey.name, .list] {
            let rows = index.rows(
                of: contents, matching: "", sortedBy: key, in: nil,
                states: contents.records.map(\.state))
            let arrangement = index.arrangement(of: rows, in: contents, sortedBy: key)
            #expect(sections(arrangement) == " 2, b 2, b/a 1, b 9 1, b 10 1")
            #expect(Set(arrangement.rows.prefix(2)) == [1, 4])
            #expect(arrangement.rows.suffix(3) == [2, 6, 3])
        }
        let found = index.arrangement(of: [2, 0], in: contents, sortedBy: .name)
        #expect(sections(found) == "b 1, b/a 1")
        let bySize = index.arrangement(of: [3, 0], in: contents, sortedBy: .size)
        #expect(bySize.sections == [] && bySize.rows == [3, 0])
    }

    @Test func photosWithoutSubfoldersNeedNoHeading() {
        let arrangement = PhotoIndex().arrangement(
            of: [1, 0], in: contents(["a.jpg", "b.jpg"]), sortedBy: .name)
        #expect(arrangement.sections == [] && arrangement.rows == [1, 0])
    }

    @Test func monthsAreSections() {
        let index = PhotoIndex()
        let times = [
            "2016-03-01T00:00:00+02:00", "2016-02-29T23:59:59", nil, "2016-03-31T12:00:00",
            "1969-12-31T23:59:59", "2000-01-01T00:00:00",
        ]
        for (row, time) in times.enumerated() {
            var facts = PhotoFacts()
            facts.taken = time.flatMap { PhotoTime($0) }
            index.decoded(PhotoID(rawValue: UInt64(row)), facts)
        }
        let contents = contents(times.map { _ in "a.jpg" })
        let rows = index.rows(
            of: contents, matching: "", sortedBy: .date, in: nil,
            states: contents.records.map(\.state))
        let arrangement = index.arrangement(of: rows, in: contents, sortedBy: .date)
        #expect(sections(arrangement) == "2016-03 2, 2016-02 1, 2000-01 1, 1969-12 1,  1")
    }

    /// Compares each first and last second of a month with the calendar of Foundation.
    @Test func monthsAreThoseOfCalendar() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        for year in [1600, 1900, 1969, 1970, 2000, 2023, 2024, 2100] {
            for number in 1...12 {
                let parts = DateComponents(year: year, month: number, day: 1)
                let start = Int(try #require(calendar.date(from: parts)).timeIntervalSince1970)
                func text(_ year: Int, _ month: Int) -> String {
                    "\(year)-\(month < 10 ? "0" : "")\(month)"
                }
                #expect(month(ofSeconds: start) == text(year, number))
                let former = number == 1 ? text(year - 1, 12) : text(year, number - 1)
                #expect(month(ofSeconds: start - 1) == former)
            }
        }
    }

    @Test func shapesAreThousandthsOfHeight() {
        let index = PhotoIndex()
        for (row, size) in [(0, (6_000, 4_000)), (1, (10, 30_000)), (3, (3_024, 4_032))] {
            var facts = PhotoFacts()
            facts.size = PixelSize(width: size.0, height: size.1)
            index.decoded(PhotoID(rawValue: UInt64(row)), facts)
        }
        let arrangement = index.arrangement(
            of: [3, 2, 1, 0], in: contents(["a", "b", "c", "d"]), sortedBy: .size)
        #expect(arrangement.shapes == [750, 0, 1, 1_500])
    }
}
