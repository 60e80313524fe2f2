import OperationsTestSupport
import PhotoImaging
import Testing

@testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.ownThreads) struct PhotoOrderTests {
    private let names = ["Zürich 10", "zurich 2", "Élan", "ocean", "OCEAN 3", "渡辺"]

    private var records: [PhotoRecord] {
        names.enumerated().map { index, name in
            PhotoRecord(
                id: PhotoID(rawValue: UInt64(index)), name: name,
                url: URL(filePath: "/nowhere/\(index).jpg", directoryHint: .notDirectory))
        }
    }

    private func rows(
        _ query: String = "", by key: PhotoOrder.Key = .list, in state: PhotoState.Kind? = nil,
        states: [PhotoState]? = nil, facts: PhotoFactTable = PhotoFactTable()
    ) -> [Int] {
        PhotoOrder(records: records, facts: facts).rows(
            matching: query, sortedBy: key, in: state, states: states ?? records.map(\.state))
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
        let order = PhotoOrder(records: records, facts: PhotoFactTable())
        #expect(
            order.rows(matching: "", sortedBy: .name, in: nil, states: records.map(\.state))
                == [2, 1, 0])
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
        let facts = PhotoFactTable()
        for (row, count, taken) in [
            (4, 10, "2015-04-14T18:21:09"), (1, 30, "2020-01-01T00:00:00+02:00"), (3, 20, nil),
        ] as [(Int, Int, String?)] {
            facts[PhotoID(rawValue: UInt64(row))] = PhotoFacts(
                color: 0, size: PixelSize(width: 1, height: 1), byteCount: count, taken: taken)
        }
        #expect(rows(by: .date, facts: facts) == [1, 4, 0, 2, 3, 5])
        #expect(rows(by: .size, facts: facts) == [1, 3, 4, 0, 2, 5])
    }

    @Test(arguments: [
        ("1970-01-01T00:00:00", 0), ("2000-02-29T12:00:00", 951_825_600),
        ("2026-11-23T01:02:03+01:00", 1_795_395_723), ("1969-12-31T23:59:59", -1),
    ])
    func timesAreSecondsSince1970(time: String, seconds: Int) {
        #expect(PhotoOrder.seconds(time) == seconds)
    }
}
