import OperationsTestSupport
import PhotoImaging
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.ownThreads) struct PhotoIndexOrderTests {
    private let names = ["Zürich 10", "zurich 2", "Élan", "ocean", "OCEAN 3", "渡辺"]

    private var records: [PhotoRecord] {
        names.enumerated().map { index, name in
            PhotoRecord(
                id: PhotoID(rawValue: UInt64(index)), name: name,
                url: URL(filePath: "/nowhere/\(index).jpg", directoryHint: .notDirectory))
        }
    }

    private func rows(
        _ query: String = "", by key: PhotoIndex.SortKey = .list, in state: PhotoState.Kind? = nil,
        states: [PhotoState]? = nil, index: PhotoIndex = PhotoIndex()
    ) -> [Int] {
        index.rows(
            of: records, matching: query, sortedBy: key, in: state,
            states: states ?? records.map(\.state))
    }

    @Test func searchIgnoresCaseAndAccents() {
        #expect(rows("ZURICH") == [0, 1])
        #expect(rows("elan") == [2])
        #expect(rows("océan") == [3, 4])
        #expect(rows("辺") == [5])
        #expect(rows("zurich 1") == [0])
        #expect(rows("nothing") == [])
        #expect(rows() == [0, 1, 2, 3, 4, 5])
    }

    @Test func namesAreSortedNaturally() {
        #expect(rows("ocean", by: .name) == [3, 4])
        #expect(Set(rows(by: .name)) == Set(0..<6))
        let records = [10, 9, 1].map { number in
            PhotoRecord(
                id: PhotoID(rawValue: number), name: "photo \(number)",
                url: URL(filePath: "/nowhere.jpg", directoryHint: .notDirectory))
        }
        let rows = PhotoIndex().rows(
            of: records, matching: "", sortedBy: .name, in: nil, states: records.map(\.state))
        #expect(rows == [2, 1, 0])
    }

    @Test func stateSelectsAndSorts() {
        let states: [PhotoState] = [
            .filtered, .new, .failed(lostConnection), .downloaded, .failed(notFound), .new,
        ]
        #expect(rows(in: .failed, states: states) == [2, 4])
        #expect(rows("zurich", in: .new, states: states) == [1])
        #expect(rows(by: .state, states: states) == [2, 4, 1, 5, 3, 0])
    }

    @Test func unknownDatesAndSizesComeLast() {
        let index = PhotoIndex()
        for (row, count, taken) in [
            (4, 10, "2015-04-14T18:21:09"), (1, 30, "2020-01-01T00:00:00+02:00"), (3, 20, nil),
        ] as [(Int, Int, String?)] {
            var facts = PhotoFacts()
            (facts.byteCount, facts.taken) = (count, taken.flatMap(PhotoTime.init))
            index.decoded(PhotoID(rawValue: UInt64(row)), facts)
        }
        #expect(rows(by: .date, index: index) == [1, 4, 0, 2, 3, 5])
        #expect(rows(by: .size, index: index) == [1, 3, 4, 0, 2, 5])
    }

    @Test func titlesAndKeywordsAreSearched() {
        let index = PhotoIndex()
        #expect(rows("fete", index: index) == [])
        var facts = PhotoFacts()
        facts.title = "Fête de la musique"
        facts.keywords = ["Berlin", "Nacht"]
        index.decoded(PhotoID(rawValue: 3), facts)
        #expect(rows("fete", index: index) == [3])
        #expect(rows("NACHT", index: index) == [3])
        // No text goes from one keyword to the next.
        #expect(rows("lin nacht", index: index) == [])
        #expect(rows("ocean", index: index) == [3, 4])
        // What was prepared for one list is not used for another one.
        let other = PhotoRecord(
            id: PhotoID(rawValue: 99), name: "other",
            url: URL(filePath: "/nowhere.jpg", directoryHint: .notDirectory))
        #expect(
            index.rows(of: [other], matching: "other", sortedBy: .list, in: nil, states: [.new])
                == [0])
    }
}
