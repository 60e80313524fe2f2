import Dispatch
import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import Operations

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

/// The pool keeps its own time.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct PoolTimeTests {
    /// Fails the process if something has not come after minutes.
    private static func require(_ hasCome: Bool, _ what: String) {
        if hasCome { return }
        writeToStandardError("\(what) has not come\n")
        exit(EXIT_FAILURE)
    }

    private struct Refusal: Error {}

    @Test func timesComeWhileAllThreadsOfTheDispatchLibraryAreBlocked() async {
        let result = await #expect(
            processExitsWith: .success, observing: [\.standardErrorContent]
        ) {
            // More than the library makes threads; what is added later comes behind them.
            for _ in 0..<400 { DispatchQueue.global().async { DispatchSemaphore(value: 0).wait() } }
            // What follows uses no task of the runtime's own threads: these are the same.
            startTestThread {
                let span = Duration.milliseconds(20)
                let limit = Duration.seconds(60)
                let queue = OperationQueue()
                queue.maxConcurrentOperationCount = 20
                let delayed = queue.add(.delay(span)) {}
                Self.require(delayed.waitUntilFinished(within: limit), "a delay")
                let limited = queue.add(.timeout(span)) { () async throws in
                    let gate = AsyncGate()
                    try await gate.wait()
                }
                Self.require(limited.waitUntilFinished(within: limit), "a timeout")
                let dated = queue.add(.deadline(in: span)) { () async throws in
                    let gate = AsyncGate()
                    try await gate.wait()
                }
                Self.require(dated.waitUntilFinished(within: limit), "a deadline")
                let retried = queue.add(.retry(1, backoff: .constant(span))) {
                    if Operation.current?.attempt == 1 { throw Refusal() }
                }
                Self.require(retried.waitUntilFinished(within: limit), "a further attempt")
                let runs = Tally()
                let periodic = queue.add(.every(span)) {
                    if runs.increment() == 3 { throw Refusal() }
                }
                Self.require(periodic.waitUntilFinished(within: limit), "a third run")
                let never = Operation()
                let waiting = queue.add { () async -> Bool in
                    await never.finished(within: span)
                }
                Self.require(waiting.waitUntilFinished(within: limit), "the end of a wait")
                exit(EXIT_SUCCESS)
            }
            while true { pause() }
        }
        expect(result, says: "")
    }

    #if os(Linux)
    /// The `futex` operation of each thread that keeps the pool's time and waits for some moment.
    ///
    /// Workers are left out: how long an idle worker waits before its thread ends may follow any
    /// clock.
    private static func timedWaits() -> [Int] {
        #if arch(arm64)
        let futex = "98"
        #else
        let futex = "202"
        #endif
        let name = "Operations-pool"
        return poolThreads().filter { $0.name == name }.compactMap { thread in
            // A new worker has the name of its creator until it sets its own, so the name is read
            // again after the wait.
            guard let text = readText("/proc/self/task/\(thread.id)/syscall"),
                readText("/proc/self/task/\(thread.id)/comm") == name + "\n"
            else { return nil }
            let words = text.split(separator: " ")
            guard words.count > 5, words[0] == futex, words[4] != "0x0" else { return nil }
            // A new thread has the name of the monitor thread, which made it, until it gets its
            // own. That may have happened since the threads were listed.
            guard readText("/proc/self/task/\(thread.id)/comm") == "Operations-pool\n" else {
                return nil
            }
            return Int(words[2].dropFirst(2), radix: 16)
        }
    }

    @Test(.enabled(if: readText("/proc/thread-self/syscall") != nil, "the kernel says nothing"))
    func thePoolsTimeDoesNotFollowTheClockThatCanBeSet() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 100
        let gate = DispatchSemaphore(value: 0)
        // They block, so the monitor thread looks again and again.
        for _ in 0..<20 { queue.addOperation { gate.wait() } }
        let delayed = queue.add(.delay(.seconds(3600))) {}
        let usesSettableClock = 256
        var seen = 0
        let hasSeen = await comesTrue {
            let waits = Self.timedWaits()
            #expect(waits.allSatisfy { $0 & usesSettableClock == 0 })
            seen += waits.count
            return seen > 20
        }
        #expect(hasSeen, "the pool waits up to some moment")
        for _ in 0..<20 { gate.signal() }
        delayed.cancel()
        await queue.drain()
    }
    #endif
}
