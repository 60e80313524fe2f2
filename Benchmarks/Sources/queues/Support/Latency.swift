import Dispatch
import Synchronization

/// Measures the time from adding a block to its first instruction.
enum Latency {
    /// - Parameter add: adds the block to the peer's queue.
    static func measure(_ count: Int, add: (@escaping @Sendable () -> Void) -> Void) -> [Duration] {
        let sample = Sample()
        return (0..<count).map { _ in
            // Long enough for spinning workers to go to sleep.
            Threads.pause(milliseconds: 5)
            let start = ContinuousClock.now
            add { sample.blockBegan() }
            return sample.wait() - start
        }
    }

    private final class Sample: Sendable {
        private let began = Mutex(ContinuousClock.now)
        private let done = DispatchSemaphore(value: 0)

        func blockBegan() {
            let now = ContinuousClock.now
            began.withLock { $0 = now }
            done.signal()
        }

        func wait() -> ContinuousClock.Instant {
            done.wait()
            return began.withLock { $0 }
        }
    }
}
