import OperationsTestSupport
import Testing

@testable import Operations

/// A bucket that adds its tokens one by one as time passes: slow, and plainly right.
private struct PlainBucket {
    var rate: TokenRate
    /// The attoseconds of filling that the bucket holds; an interval of them is a token.
    var filling: Int128
    var now = Duration.zero

    init(_ rate: TokenRate) {
        self.rate = rate
        filling = rate.interval.attoseconds * Int128(rate.burst)
    }

    mutating func pass(_ time: Duration) {
        now += time
        guard rate.tokens > 0 else { return }
        filling = min(
            filling + time.attoseconds, rate.interval.attoseconds * Int128(rate.burst))
    }

    var tokens: Int { Int(max(0, filling / rate.interval.attoseconds)) }
    mutating func take(_ count: Int) { filling -= rate.interval.attoseconds * Int128(count) }

    func wait(for count: Int) -> Duration {
        let missing = rate.interval.attoseconds * Int128(count) - filling
        return Duration(attoseconds: max(0, missing))
    }
}

struct TokenBucketTests {
    private let rate = TokenRate(tokens: 3, period: .seconds(1), burst: 4)

    @Test(arguments: seeds(count: 50))
    func behavesAsAPlainBucket(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let rate = TokenRate(
            tokens: .random(in: 1...20, using: &random),
            period: .milliseconds(Int.random(in: 1...5_000, using: &random)),
            burst: .random(in: 1...10, using: &random))
        let start = Duration.seconds(Int.random(in: -100...100, using: &random))
        var plain = PlainBucket(rate)
        var state = TokenBucketState(rate, at: start)
        for step in 0..<500 {
            let now = start + plain.now
            #expect(state.tokens(at: now) == plain.tokens, "step \(step)")
            let count = Int.random(in: 1...rate.burst, using: &random)
            #expect(state.wait(for: count, at: now) == plain.wait(for: count), "step \(step)")
            switch Int.random(in: 0..<4, using: &random) {
            case 0: plain.pass(plain.wait(for: count))
            case 1: plain.pass(.milliseconds(Int.random(in: 0...2_000, using: &random)))
            default:
                guard plain.tokens >= count else { continue }
                plain.take(count)
                state.take(count, at: now)
                if Int.random(in: 0..<5, using: &random) == 0 {
                    plain.take(-count)
                    state.putBack(count)
                }
            }
        }
    }

    @Test func fillsUpToTheBurst() {
        var state = TokenBucketState(rate, at: .zero)
        #expect(state.isFull(at: .zero) && state.tokens(at: .seconds(9)) == 4)
        state.take(4, at: .seconds(9))
        #expect(state.tokens(at: .seconds(9)) == 0)
        #expect(state.tokens(at: .seconds(10)) == 3)
        #expect(state.tokens(at: .seconds(100)) == 4)
    }

    @Test func changeOfRateKeepsTokens() {
        var state = TokenBucketState(rate, at: .zero)
        state.take(2, at: .zero)
        state.change(to: TokenRate(tokens: 10, period: .seconds(1), burst: 20), at: .zero)
        #expect(state.tokens(at: .zero) == 2 && state.tokens(at: .milliseconds(500)) == 7)
        state.change(to: TokenRate(tokens: 0, period: .seconds(1), burst: 5), at: .seconds(1))
        #expect(state.tokens(at: .seconds(1)) == 5 && state.tokens(at: .seconds(1_000)) == 5)
        state.take(3, at: .seconds(1_000))
        #expect(state.wait(for: 3, at: .seconds(1_000)) == nil)
        state.change(to: rate, at: .seconds(2_000))
        #expect(state.tokens(at: .seconds(2_000)) == 2)
        #expect(state.tokens(at: .seconds(2_001)) == 4)
    }

    @Test func extremeRatesDoNotOverflow() {
        let slow = TokenRate(
            tokens: 1, period: .seconds(36_525 * 86_400), burst: 1_000_000_000)
        var state = TokenBucketState(slow, at: .zero)
        state.take(1_000_000_000, at: .zero)
        #expect(state.tokens(at: .seconds(36_525 * 86_400)) == 1)
        let fast = TokenRate(tokens: .max, period: .nanoseconds(1), burst: 2)
        var other = TokenBucketState(fast, at: .zero)
        other.take(2, at: .zero)
        #expect(other.tokens(at: .nanoseconds(1)) == 2)
    }
}
