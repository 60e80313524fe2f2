import OperationsTestSupport
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

@Suite(.ownThreads) struct NaturalOrderTests {
    @Test func numbersSortByValueAndCaseIsIgnored() {
        let sorted = [
            "", "01", "1", "2", "10", "a", "A1", "a1b", "a01c", "a2", "a10",
            "a99999999999999999999998", "a99999999999999999999999", "b", "é",
        ]
        #expect(sorted.reversed().map { NaturalOrder($0) }.sorted().map(\.name) == sorted)
    }

    @Test func orderIsTotal() {
        let names = ["a", "A", "a1", "a01", "a001", "A1", "1a", "01A", "1", "001", "", "a.", "a-1"]
            .map { NaturalOrder($0) }
        for first in names {
            for second in names {
                #expect([first < second, second < first, first == second].count { $0 } == 1)
                for third in names where first < second && second < third {
                    #expect(first < third)
                }
            }
        }
    }
}
