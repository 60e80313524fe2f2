import OperationsTestSupport
import Testing

@testable import OperationsRuntime

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct LatchTests {
    @Test func openLatchEndsWaitsUntilClosed() {
        let latch = Latch()
        #expect(!latch.wait(nanoseconds: 0))
        latch.open()
        #expect(latch.wait())
        #expect(latch.wait(nanoseconds: 0))
        latch.close()
        #expect(!latch.wait(nanoseconds: 1_000_000))
    }

    @Test func openingWakesAllWaitingThreads() async {
        let latch = Latch()
        await withTaskGroup(of: Bool.self) { group in
            for limit in [nil, nil, UInt64(60_000_000_000)] {
                group.addTask { await onThread { latch.wait(nanoseconds: limit) } }
            }
            latch.open()
            for await isInTime in group { #expect(isInTime) }
        }
    }

    /// Without a fixed end, the time would begin again at each wake-up, and the wait would go on.
    @Test func wakeUpsDoNotExtendTimeLimit() async {
        let latch = Latch()
        let isOver = Latch()
        async let isInTime = onThread {
            defer { isOver.open() }
            return latch.wait(nanoseconds: 100_000_000)
        }
        async let _ = onThread {
            while !isOver.wait(nanoseconds: 0) {
                latch.wakeAll()
                sleepBriefly()
            }
        }
        #expect(await !isInTime)
    }
}
