import Dispatch
import NIOPosix

/// The thread pool with which programs on SwiftNIO run work that blocks: the one that the process
/// shares, with as many threads as NIO chooses.
///
/// The pool has one kind of work: closures, in the order of their addition. It has no dependencies,
/// no `async` bodies, and no limit of its own besides its number of threads.
struct NIOPeer: Contender {
    private var pool: NIOThreadPool { .singleton }

    func independent(_ count: Int) -> Duration? {
        let marks = Marks(count: count)
        let group = DispatchGroup()
        let pool = pool
        let duration = time {
            for index in 0..<count {
                group.enter()
                pool.submit { _ in
                    marks.mark(index)
                    group.leave()
                }
            }
            group.wait()
        }
        marks.release(expecting: 1, of: .nio)
        return duration
    }

    /// The pool cannot be suspended, so this method keeps the threads of a pool of its own busy.
    func bytesQueued(_ count: Int) -> Double? {
        let marks = Marks(count: count)
        let pool = NIOThreadPool(numberOfThreads: 2)
        pool.start()
        let (began, never) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        for _ in 0..<2 {
            pool.submit { _ in
                began.signal()
                never.wait()
            }
        }
        for _ in 0..<2 { began.wait() }
        _ = Unmanaged.passRetained(pool)
        guard let before = ResidentMemory.bytes else { return nil }
        for index in 0..<count { pool.submit { _ in marks.mark(index) } }
        guard let after = ResidentMemory.bytes else { return nil }
        return Double(after - before) / Double(count)
    }

    func latencies(_ count: Int) -> [Duration]? {
        let pool = pool
        return Latency.measure(count) { block in pool.submit { _ in block() } }
    }

    func blocking(_ count: Int, milliseconds: Int) -> Duration? {
        let group = DispatchGroup()
        let pool = pool
        return time {
            for _ in 0..<count {
                group.enter()
                pool.submit { _ in
                    Threads.pause(milliseconds: milliseconds)
                    group.leave()
                }
            }
            group.wait()
        }
    }

    func hops(_ hop: Hop, _ count: Int) -> Duration? {
        guard hop == .blocking else { return nil }
        let marks = Marks(count: count)
        let pool = pool
        let duration = time {
            waitForTask {
                for index in 0..<count {
                    // Thrown only if the pool was shut down, and then the marks say so.
                    try? await pool.runIfActive { marks.mark(index) }
                }
            }
        }
        marks.release(expecting: 1, of: .nio)
        return duration
    }

    func produced(_ count: Int, by producers: Int) -> Duration? {
        let share = count / producers
        let marks = Marks(count: share * producers)
        let group = DispatchGroup()
        let pool = pool
        let start = Threads.race(producers) { producer in
            for index in producer * share..<(producer + 1) * share {
                group.enter()
                pool.submit { _ in
                    marks.mark(index)
                    group.leave()
                }
            }
        }
        group.wait()
        let duration = ContinuousClock.now - start
        marks.release(expecting: 1, of: .nio)
        return duration
    }
}
