import OperationsTestSupport
import Testing

@testable import OperationsRuntime

@Suite(.timeLimit(.minutes(5)))
struct BitTreeTests {
    @Test(arguments: [64, 128, 4_096, 8_192, 1 << 20])
    func nearestMembersAreFound(capacity: Int) {
        var random = SplitMix64(seed: UInt64(capacity))
        var tree = BitTree(capacity: capacity)
        defer { tree.deallocate() }
        var members = Set<Int>()
        for _ in 0..<2_000 {
            let index = random.below(capacity)
            if random.happens(2, in: 3) {
                tree.insert(index)
                members.insert(index)
            } else if let member = random.happens(1, in: 2) ? members.first : index {
                tree.remove(member)
                members.remove(member)
            }
            let start = random.below(capacity)
            guard random.happens(1, in: 8) else { continue }
            #expect(tree.count == members.count)
            #expect(tree.first(from: start) == members.filter { $0 >= start }.min())
            #expect(tree.last(upTo: start) == members.filter { $0 <= start }.max())
            #expect(
                tree.firstAround(from: start)
                    == (members.filter { $0 >= start }.min() ?? members.min()))
        }
        for member in members { tree.remove(member) }
        #expect(tree.isEmpty && tree.first(from: 0) == nil)
    }
}
