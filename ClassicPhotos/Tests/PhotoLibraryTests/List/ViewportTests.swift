import OperationsTestSupport
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

@Suite(.ownThreads) struct ViewportTests {
    @Test(arguments: 0..<40)
    func rowsAreOrderedByDistanceFromMiddle(count: Int) {
        let rows = Row(7)..<Row(7 + count)
        let viewport = Viewport(reported: .range(rows), rowCount: 100, limit: 100)
        var order: [Row] = []
        viewport.forEachFromTheMiddle { order.append($0) }
        // Twice the distance, which is a whole number.
        let sum = rows.lowerBound.index + rows.upperBound.index - 1
        let expected = rows.sorted {
            (abs(2 * $0.index - sum), $0.index) < (abs(2 * $1.index - sum), $1.index)
        }
        #expect(order == expected)
    }

    @Test func rowsInOtherOrderAreReducedToExistingRows() {
        let reported = [9, 3, 3, -1, 100, 7, 5, 9, 1].map { Row($0) }
        let all = Viewport(reported: .rows(reported), rowCount: 100, limit: 100)
        #expect(all.rows == [9, 3, 7, 5, 1].map { Row($0) })
        var order: [Row] = []
        all.forEachFromTheMiddle { order.append($0) }
        #expect(order == [7, 3, 5, 9, 1].map { Row($0) })
        for (limit, expected) in [(3, [3, 7, 5]), (4, [9, 3, 7, 5]), (1, [7])] {
            let some = Viewport(reported: .rows(reported), rowCount: 100, limit: limit)
            #expect(some.rows == expected.map { Row($0) })
            #expect(some.set == Set(some.rows))
        }
    }

    @Test func rowsSaturateInsteadOfOverflowing() {
        #expect(Row(.max).advanced(by: 1) == Row(.max))
        #expect(Row(.min).advanced(by: -1) == Row(.min))
        #expect(Row(.min).distance(to: Row(.max)) == .max)
        #expect(Row(.max).distance(to: Row(.min)) == .min)
    }
}
