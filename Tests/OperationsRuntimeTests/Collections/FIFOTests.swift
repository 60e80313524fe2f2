import OperationsTestSupport
import Testing

@testable import OperationsRuntime

@Suite(.timeLimit(.minutes(5)))
struct FIFOTests {
    @Test func randomChangesAgreeWithAnArray() {
        for seed in seeds(count: 20) {
            var (fifo, array) = (FIFO<Int>(), [Int]())
            var random = SplitMix64(seed: seed)
            for number in 0..<5_000 {
                switch random.below(8) {
                case 0:
                    fifo.prepend(number)
                    array.insert(number, at: 0)
                case 1...4:
                    fifo.append(number)
                    array.append(number)
                default:
                    let first = array.isEmpty ? nil : array.removeFirst()
                    #expect(fifo.popFirst() == first, "seed \(seed)")
                }
                #expect(fifo.count == array.count)
            }
            while let first = fifo.popFirst() { #expect(first == array.removeFirst()) }
            #expect(array.isEmpty && fifo.isEmpty)
        }
    }
}
