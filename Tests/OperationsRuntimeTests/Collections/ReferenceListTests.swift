import Testing

@testable import OperationsRuntime

struct ReferenceListTests {
    private final class Item: Sendable {}

    /// The first eight references and the others lie in different places.
    @Test(arguments: [0, 1, 7, 8, 9, 40])
    func listKeepsTheOrderOfItsReferences(count: Int) {
        let items = (0..<count).map { _ in Item() }
        var list = ReferenceList<Item>()
        for item in items { list.append(.passUnretained(item)) }
        #expect(list.count == count)
        #expect(list.isEmpty == items.isEmpty)
        let expected = items.map { Unmanaged.passUnretained($0).toOpaque() }
        #expect(list.array.map { $0.toOpaque() } == expected)
    }

    @Test func releasingTheListReleasesTheLastReference() {
        weak var last: Item?
        var list = ReferenceList<Item>()
        do {
            let items = (0..<10).map { _ in Item() }
            for item in items { list.append(.passRetained(item)) }
            last = items.last
        }
        #expect(last != nil)
        ThreadContext.release(list)
        #expect(last == nil)
    }
}
