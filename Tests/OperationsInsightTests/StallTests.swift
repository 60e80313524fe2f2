import Dispatch
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations
@testable import OperationsInsight

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

struct StallWatchTests {
    private typealias Sample = StallWatch.Sample

    private func busy(_ finished: Int) -> Sample {
        Sample(finished: finished, unfinished: 2, isSuspended: false)
    }

    @Test func stallIsReportedOnceAndAgainAfterProgress() {
        var watch = StallWatch(limit: 100)
        #expect(watch.update(with: busy(0), at: 0) == nil)
        #expect(watch.update(with: busy(0), at: 99) == nil)
        #expect(watch.update(with: busy(0), at: 110) == 110)
        #expect(watch.update(with: busy(0), at: 500) == nil)
        #expect(watch.update(with: busy(1), at: 510) == nil)
        #expect(watch.update(with: busy(1), at: 600) == nil)
        #expect(watch.update(with: busy(1), at: 610) == 100)
    }

    @Test func timeDoesNotCountWhileQueueIsEmptyOrSuspended() {
        for idle in [
            Sample(finished: 3, unfinished: 0, isSuspended: false),
            Sample(finished: 3, unfinished: 2, isSuspended: true),
        ] {
            var watch = StallWatch(limit: 100)
            #expect(watch.update(with: busy(3), at: 0) == nil)
            #expect(watch.update(with: idle, at: 90) == nil)
            #expect(watch.update(with: idle, at: 1_000) == nil)
            #expect(watch.update(with: busy(3), at: 1_010) == nil)
            #expect(watch.update(with: busy(3), at: 1_109) == nil)
            #expect(watch.update(with: busy(3), at: 1_110) == 100)
        }
    }
}

/// A time that passes when the test advances it.
private final class ManualTime: Sendable {
    private struct State {
        var now: UInt64 = 1
        var sleepers: [CheckedContinuation<Void, Never>] = []
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    var now: UInt64 { state.withLock { $0.now } }

    func pass(_: Duration) async {
        await withCheckedContinuation { continuation in
            let waiting = state.withLock { state in
                state.sleepers.append(continuation)
                defer { state.waiting = [] }
                return state.waiting
            }
            for waiter in waiting { waiter.resume() }
        }
    }

    /// Suspends until a task sleeps.
    func waitForSleeper() async {
        await withCheckedContinuation { continuation in
            let hasSleeper = state.withLock { state in
                if !state.sleepers.isEmpty { return true }
                state.waiting.append(continuation)
                return false
            }
            if hasSleeper { continuation.resume() }
        }
    }

    /// Advances the time, and waits until the reports have looked at it.
    func advance(by duration: Duration) async {
        await waitForSleeper()
        wake(after: duration)
        await waitForSleeper()
    }

    func wake(after duration: Duration = .zero) {
        let sleepers = state.withLock { state in
            state.now += duration.wholeNanoseconds
            defer { state.sleepers = [] }
            return state.sleepers
        }
        for sleeper in sleepers { sleeper.resume() }
    }
}

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct StallTests {
    private func reports(
        of queue: OperationQueue, after duration: Duration, _ time: ManualTime
    ) -> (TestRecorder<OperationQueueStall>, OperationQueueStallReports) {
        let stalls = TestRecorder<OperationQueueStall>()
        let reports = queue.reportStalls(
            after: duration, passing: { await time.pass($0) }, now: { time.now }
        ) { stalls.record($0) }
        return (stalls, reports)
    }

    @Test func eachStallIsReportedOnce() async {
        let queue = OperationQueue()
        queue.name = "Pictures"
        let missing = Operation()
        missing.name = "missing"
        let decode = Operation()
        decode.name = "decode"
        decode.addDependency(missing)
        queue.addOperation(decode)
        let time = ManualTime()
        let (stalls, reports) = reports(of: queue, after: .seconds(30), time)
        await time.advance(by: .seconds(29))
        #expect(stalls.events.isEmpty)
        await time.advance(by: .seconds(2))
        await time.advance(by: .seconds(100))
        #expect(stalls.events.count == 1)
        let stall = stalls.events.first
        #expect(stall?.queue == "queue 'Pictures'" && stall?.unfinishedCount == 1)
        #expect(stall?.duration == .seconds(31))
        #expect(
            stall?.description == """
                queue 'Pictures': nothing has finished for 31.0 s, and 1 operation has not.
                queue 'Pictures' holds 1 operation: 1 waiting.
                'decode' waits for 'missing' (in no queue and not started).
                """)

        // Something finishes, and then nothing again.
        await queue.addOperations([BlockOperation {}], waitUntilFinished: true)
        await time.advance(by: .seconds(1))
        await time.advance(by: .seconds(31))
        #expect(stalls.events.count == 2)
        missing.cancel()
        missing.start()
        await queue.drain()
        reports.end()
        time.wake()
    }

    @Test func suspendedQueueIsNotReported() async {
        let queue = suspendedQueue()
        queue.addOperation(Operation())
        let time = ManualTime()
        let (stalls, reports) = reports(of: queue, after: .seconds(1), time)
        for _ in 0..<5 { await time.advance(by: .seconds(10)) }
        #expect(stalls.events.isEmpty)
        reports.end()
        time.wake()
        queue.isSuspended = false
        await queue.drain()
    }

    @Test func reportsEndOnRequestAndWithTheirQueue() async {
        let time = ManualTime()
        let stalls = TestRecorder<OperationQueueStall>()
        weak var gone: OperationQueue?
        let queue = OperationQueue()
        let missing = Operation()
        let waiting = Operation()
        waiting.addDependency(missing)
        queue.addOperation(waiting)
        let first = reports(of: queue, after: .seconds(1), time)
        await time.waitForSleeper()
        first.1.end()
        time.wake(after: .seconds(10))
        do {
            let other = OperationQueue()
            gone = other
            _ = other.reportStalls(
                after: .seconds(1), passing: { await time.pass($0) }, now: { time.now }
            ) { stalls.record($0) }
        }
        // A look-up of the reports, or of another test, may still hold the queue.
        #expect(await comesTrue { gone == nil }, "the reports do not retain the queue")
        await time.waitForSleeper()
        time.wake(after: .seconds(10))
        missing.start()
        await queue.drain()
        #expect(stalls.events.isEmpty && first.0.events.isEmpty)
    }

    @Test func stallIsReportedWhileAllThreadsOfTheDispatchLibraryAreBlocked() async {
        let result = await #expect(
            processExitsWith: .success, observing: [\.standardErrorContent]
        ) {
            // More than the library makes threads; what is added later comes behind them.
            for _ in 0..<400 { DispatchQueue.global().async { DispatchSemaphore(value: 0).wait() } }
            // What follows uses no task of the runtime's own threads: these are the same.
            startTestThread {
                let stalled = OperationQueue()
                stalled.maxConcurrentOperationCount = 0
                stalled.addOperation {}
                let reported = Signal()
                stalled.reportStalls(after: .milliseconds(1)) { _ in reported.send() }
                exit(reported.wait() ? EXIT_SUCCESS : EXIT_FAILURE)
            }
            while true { pause() }
        }
        expect(result, says: "")
    }

    @Test func stallIsReportedInRealTime() async {
        let queue = OperationQueue()
        let missing = Operation()
        let waiting = Operation()
        waiting.addDependency(missing)
        queue.addOperation(waiting)
        let reported = AsyncStream<OperationQueueStall>.makeStream()
        let reports = queue.reportStalls(after: .milliseconds(1)) {
            reported.continuation.yield($0)
        }
        var iterator = reported.stream.makeAsyncIterator()
        #expect(await iterator.next()?.unfinishedCount == 1)
        reports.end()
        missing.start()
        await queue.drain()
    }
}
