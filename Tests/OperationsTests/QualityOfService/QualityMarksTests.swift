import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import Operations

/// Marks against a model that writes every promotion to every operation.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct QualityMarksTests {
    private struct Item {
        var place: Int
        var quality = QualityOfServiceState()
    }

    @Test(arguments: seeds(count: rounds(20)))
    func marksPromoteAsSeparatePromotionsWould(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var marks = QualityMarks()
        var items: [Item] = []
        var tail = 0
        for _ in 0..<300 {
            let rank = Int.random(in: 1...4, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                if Bool.random(using: &random) {
                    _ = marks.raise(before: tail, to: rank)
                    for index in items.indices { _ = items[index].quality.promote(to: rank) }
                }
                items.append(Item(place: tail))
                tail += 1
            case 5:
                guard let middle = items.indices.randomElement(using: &random) else { continue }
                _ = marks.raise(before: items[middle].place, to: rank)
                for index in 0..<middle { _ = items[index].quality.promote(to: rank) }
            case 6:
                marks.raiseByQueue(before: tail, to: rank)
                for index in items.indices { _ = items[index].quality.promoteByQueue(to: rank) }
            case 7..<9:
                guard let index = items.indices.randomElement(using: &random) else { continue }
                items.remove(at: index)
            default:
                let first = tail - items.count
                var places: [(old: Int, new: Int)] = []
                for index in items.indices {
                    places.append((items[index].place, first + index))
                    items[index].place = first + index
                }
                marks.renumber(places, tail: tail)
            }
            for item in items {
                var quality = QualityOfServiceState()
                _ = marks.apply(to: &quality, at: item.place)
                #expect(quality.effectiveRank == item.quality.effectiveRank)
                #expect(quality.isGivenByQueue == item.quality.isGivenByQueue)
            }
            #expect(items.allSatisfy { $0.quality.effectiveRank == 0 || $0.place < marks.end })
        }
    }

    @Test func placeIsVisitedOnceForEachRank() {
        var marks = QualityMarks()
        #expect(marks.raise(before: 10, to: 2) == 0..<10)
        #expect(marks.raise(before: 12, to: 2) == 10..<12)
        #expect(marks.raise(before: 11, to: 1).isEmpty)
        #expect(marks.raise(before: 12, to: 4) == 0..<12)
        #expect(marks.raise(before: 12, to: 3).isEmpty)
        #expect(marks.raise(before: 14, to: 3) == 12..<14)
        #expect(marks.end == 14)
    }
}
