import Dispatch

import class Foundation.Thread

/// Threads outside of every peer's pool.
enum Threads {
    /// Runs a body on a new thread and waits for it.
    ///
    /// Measurements use such a thread instead of the main thread, on which a wait may trigger
    /// diagnostics. The stack is large because peers may release long chains recursively.
    static func run(_ body: @escaping @Sendable () -> Void) {
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            body()
            done.signal()
        }
        thread.stackSize = 1 << 29
        thread.start()
        done.wait()
    }

    /// Runs a body on several threads that start at the same moment, each with an input that the
    /// thread has made before, and waits until the threads have released their inputs.
    ///
    /// - Returns: the time from the start until the last body has returned.
    static func race<Input>(
        _ count: Int, with makeInput: @escaping @Sendable () -> Input,
        _ body: @escaping @Sendable (Input) -> Void
    ) -> Duration {
        let ready = DispatchSemaphore(value: 0)
        let go = DispatchSemaphore(value: 0)
        let done = DispatchSemaphore(value: 0)
        let released = DispatchSemaphore(value: 0)
        for _ in 0..<count {
            Thread {
                do {
                    let input = makeInput()
                    ready.signal()
                    go.wait()
                    // The release of the input is not measured.
                    withExtendedLifetime(input) {
                        body(input)
                        done.signal()
                    }
                }
                released.signal()
            }.start()
        }
        for _ in 0..<count { ready.wait() }
        let start = ContinuousClock.now
        for _ in 0..<count { go.signal() }
        for _ in 0..<count { done.wait() }
        let duration = ContinuousClock.now - start
        for _ in 0..<count { released.wait() }
        return duration
    }

    /// Runs a body on several threads that start at the same moment, and waits for all of them.
    ///
    /// - Returns: the moment of the start.
    static func race(_ count: Int, _ body: @escaping @Sendable (Int) -> Void)
        -> ContinuousClock.Instant
    {
        let ready = DispatchSemaphore(value: 0)
        let go = DispatchSemaphore(value: 0)
        let done = DispatchSemaphore(value: 0)
        for index in 0..<count {
            Thread {
                ready.signal()
                go.wait()
                body(index)
                done.signal()
            }.start()
        }
        for _ in 0..<count { ready.wait() }
        let start = ContinuousClock.now
        for _ in 0..<count { go.signal() }
        for _ in 0..<count { done.wait() }
        return start
    }

    /// Waits until the workers of every pool are asleep.
    static func pause(milliseconds: Int) {
        Thread.sleep(forTimeInterval: Double(milliseconds) / 1000)
    }
}
