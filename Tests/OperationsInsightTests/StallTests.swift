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
    private let first = WorkingIdentity(Operation())
    private let second = WorkingIdentity(Operation())

    private func sample(
        _ ended: Int, ready: Int = 0, held: Int = 0, waiting: Int = 0, isSuspended: Bool = false,
        _ working: [(WorkingIdentity, UInt64)] = []
    ) -> StallWatch.Sample {
        var pulse = QueuePulse()
        pulse.working = working.map { QueuePulse.Working(identity: $0.0, mark: $0.1) }
        (pulse.readyCount, pulse.heldCount, pulse.waitingCount) = (ready, held, waiting)
        return StallWatch.Sample(ended: ended, isSuspended: isSuspended, pulse: pulse)
    }

    @Test func stallIsReportedOnceAndAgainAfterProgress() {
        var watch = StallWatch(limit: 100, operationLimit: nil)
        #expect(watch.update(with: sample(0, ready: 2), at: 0) == nil)
        #expect(watch.update(with: sample(0, ready: 2), at: 99) == nil)
        #expect(watch.update(with: sample(0, ready: 2), at: 110)?.queue == 110)
        #expect(watch.update(with: sample(0, ready: 2), at: 500) == nil)
        #expect(watch.update(with: sample(1, ready: 2), at: 510) == nil)
        #expect(watch.update(with: sample(1, ready: 2), at: 600) == nil)
        #expect(watch.update(with: sample(1, ready: 2), at: 610)?.queue == 100)
    }

    @Test func timeDoesNotCountWhileNothingIsExpected() {
        for idle in [
            sample(3), sample(3, ready: 2, isSuspended: true), sample(3, held: 5),
        ] {
            var watch = StallWatch(limit: 100, operationLimit: 100)
            #expect(watch.update(with: sample(3, waiting: 2), at: 0) == nil)
            #expect(watch.update(with: idle, at: 90) == nil)
            #expect(watch.update(with: idle, at: 1_000) == nil)
            #expect(watch.update(with: sample(3, ready: 2), at: 1_010) == nil)
            #expect(watch.update(with: sample(3, ready: 2), at: 1_099) == nil)
            #expect(watch.update(with: sample(3, ready: 2), at: 1_100)?.queue == 100)
        }
    }

    @Test func beginningResumingAndReturningAreProgress() {
        var watch = StallWatch(limit: 100, operationLimit: 1_000)
        #expect(watch.update(with: sample(0, ready: 1), at: 0) == nil)
        #expect(watch.update(with: sample(0, ready: 1, [(first, 1)]), at: 90) == nil)
        #expect(watch.update(with: sample(0, ready: 1, [(first, 2)]), at: 180) == nil)
        #expect(watch.update(with: sample(0, ready: 1), at: 270) == nil)
        #expect(watch.update(with: sample(0, ready: 1, [(second, 1)]), at: 360) == nil)
        #expect(watch.update(with: sample(0, ready: 1, [(first, 1)]), at: 450) == nil)
        #expect(watch.update(with: sample(0, ready: 1, [(first, 1)]), at: 550)?.queue == 100)
    }

    @Test func operationThatExecutesForTooLongIsReportedOnceEachTime() {
        var watch = StallWatch(limit: 1_000, operationLimit: 100)
        func operations(_ verdict: StallWatch.Verdict?) -> [UInt64]? {
            verdict?.operations.map(\.nanoseconds)
        }
        #expect(watch.update(with: sample(0, [(first, 1)]), at: 0) == nil)
        // Others go on.
        #expect(watch.update(with: sample(1, ready: 1, [(first, 1), (second, 1)]), at: 60) == nil)
        let both = sample(2, ready: 1, [(first, 1), (second, 1)])
        let verdict = watch.update(with: both, at: 120)
        #expect(operations(verdict) == [120] && verdict?.queue == nil)
        #expect(verdict?.operations.first?.operation === first)
        #expect(operations(watch.update(with: both, at: 170)) == [110])
        #expect(watch.update(with: both, at: 500) == nil)
        let resumed = sample(2, ready: 1, [(first, 2), (second, 1)])
        #expect(watch.update(with: resumed, at: 600) == nil)
        #expect(operations(watch.update(with: resumed, at: 700)) == [100])
    }

    @Test func withoutALookAtTheOperationsOnlyEndsAreKnown() {
        var watch = StallWatch(limit: 100, operationLimit: 100)
        #expect(watch.update(with: sample(0, ready: 1), at: 0) == nil)
        #expect(watch.update(with: StallWatch.Sample(ended: 0, isSuspended: false), at: 200) == nil)
        #expect(watch.update(with: StallWatch.Sample(ended: 1, isSuspended: false), at: 210) == nil)
        #expect(watch.update(with: sample(1, ready: 1), at: 309) == nil)
        #expect(watch.update(with: sample(1, ready: 1), at: 310)?.queue == 100)
    }
}

/// A watcher that looks when the test lets time pass, and reports at once.
private final class TestWatch: Sendable {
    private final class Time: Sendable { let now = Atomic<UInt64>(1_000_000_000) }

    private let time: Time
    let watcher: StallWatcher
    let stalls = TestRecorder<OperationQueueStall>()

    init() {
        let time = Time()
        self.time = time
        watcher = StallWatcher(now: { time.now.load(ordering: .relaxed) }) { $0() }
    }

    /// Lets time pass in steps of a second, and looks after each.
    func pass(seconds: Int) {
        for _ in 0..<seconds {
            time.now.add(1_000_000_000, ordering: .relaxed)
            watcher.look()
        }
    }

    @discardableResult
    func watch(
        _ queue: OperationQueue, after limit: Duration = .seconds(30),
        operationLimit: Duration? = .seconds(30)
    ) -> OperationQueueStallReports {
        queue.reportStalls(after: limit, operationLimit: operationLimit, by: watcher) {
            [stalls] in stalls.record($0)
        }
    }
}

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct StallTests {
    @Test func eachStallIsReportedOnce() async {
        let queue = OperationQueue()
        queue.name = "Pictures"
        let missing = Operation()
        missing.name = "missing"
        let decode = Operation()
        decode.name = "decode"
        decode.addDependency(missing)
        queue.addOperation(decode)
        let test = TestWatch()
        let reports = test.watch(queue)
        test.pass(seconds: 29)
        #expect(test.stalls.events.isEmpty)
        test.pass(seconds: 100)
        #expect(test.stalls.events.count == 1)
        let stall = test.stalls.events.first
        #expect(stall?.queue == "queue 'Pictures'" && stall?.unfinishedCount == 1)
        #expect(stall.map { (.seconds(30)...(.seconds(34))).contains($0.duration) } == true)
        #expect(stall?.isOfWholeQueue == true && stall?.operations.isEmpty == true)
        let lines = stall?.description.split(separator: "\n").dropFirst()
        #expect(
            lines.map { $0.joined(separator: "\n") } == """
                queue 'Pictures' holds 1 operation: 1 waiting.
                'decode' waits for 'missing' (in no queue and not started).
                """)

        // Something finishes, and then nothing again.
        await queue.addOperations([BlockOperation {}], waitUntilFinished: true)
        test.pass(seconds: 40)
        #expect(test.stalls.events.count == 2)
        missing.cancel()
        missing.start()
        await queue.drain()
        reports.end()
    }

    @Test func queueThatWaitsForATimeIsNotReported() async {
        let queue = OperationQueue(width: 1)
        let test = TestWatch()
        test.watch(queue)
        let ran = Signal()
        queue.add("poll", .every(.seconds(100_000))) { ran.send() }
        ran.wait()
        queue.add("later", .delay(.seconds(100_000)), .mayFail) {}
        let failed = Signal()
        queue.add("again", .retry(2, backoff: .constant(.seconds(100_000))), .mayFail) {
            failed.send()
            throw CocoaLikeError()
        }
        failed.wait()
        // Waits for what is delayed.
        let after = BlockOperation {}
        after.name = "after"
        for operation in queue.operations where operation.name == "later" {
            after.addDependency(operation)
        }
        queue.addOperation(after)
        #expect(await comesTrue { queue.explain().executingCount == 0 }, "only holds are left")
        test.pass(seconds: 1_000)
        #expect(test.stalls.events.isEmpty)
        queue.cancelAllOperations()
        await queue.drain()
    }

    @Test func operationThatHangsIsReportedWhileOthersGoOn() async {
        let queue = OperationQueue(name: "mixed", width: 2)
        let (begun, end) = (Signal(), Signal())
        queue.add("hangs") {
            begun.send()
            end.wait()
        }
        begun.wait()
        let test = TestWatch()
        test.watch(queue)
        for _ in 0..<40 {
            await queue.add("short") {}.finished()
            test.pass(seconds: 1)
        }
        #expect(test.stalls.events.count == 1)
        let stall = test.stalls.events.first
        #expect(stall?.isOfWholeQueue == false)
        #expect(stall?.operations.map(\.name) == ["'hangs'"])
        #if os(Linux)
        #expect(
            stall?.operations.first?.thread?.hasPrefix("its thread waits") == true,
            "\(stall?.operations.first?.thread ?? "nil")")
        #endif
        #expect(stall?.explanation.causes.allSatisfy { $0.path == ["'hangs'"] } == true)
        end.send()
        await queue.drain()
    }

    @Test(arguments: [false, true])
    func plainOperationOfAClassIsToldFromTheNextAtItsAddress(_ hangs: Bool) async {
        final class Plain: Operation, @unchecked Sendable {
            let (begun, end) = (Signal(), Signal())
            override func main() {
                begun.send()
                end.wait()
            }
        }
        let queue = OperationQueue(name: "plain", width: 1)
        let test = TestWatch()
        test.watch(queue)
        for _ in 0..<(hangs ? 1 : 50) {
            let operation = Plain()
            queue.addOperation(operation)
            operation.begun.wait()
            test.pass(seconds: hangs ? 40 : 4)
            operation.end.send()
            await queue.drain()
        }
        #expect(test.stalls.events.count == (hangs ? 1 : 0))
    }

    @Test func asyncLoopGoesOnAndASuspendedBodyDoesNot() async {
        let queue = OperationQueue(name: "loops", width: 2)
        let test = TestWatch()
        let (steps, next) = AsyncStream<Bool>.makeStream()
        let passed = Signal()
        queue.add("loop") {
            for await isMore in steps where isMore { passed.send() }
        }
        test.watch(queue)
        for _ in 0..<20 {
            next.yield(true)
            passed.wait()
            test.pass(seconds: 4)
        }
        #expect(test.stalls.events.isEmpty)
        test.pass(seconds: 40)
        #expect(test.stalls.events.map(\.isOfWholeQueue) == [false])
        let long = test.stalls.events.first?.operations.first
        #expect(long?.isSuspended == true && long?.thread == nil)
        #expect(long?.description.hasPrefix("'loop' has been suspended for ") == true)
        // It goes on, and stands still again.
        next.yield(true)
        passed.wait()
        test.pass(seconds: 40)
        #expect(test.stalls.events.count == 2)
        next.finish()
        await queue.drain()
    }

    @Test func operationThatWaitsForOthersIsReportedOnlyIfTheseStandStill() async {
        let (outer, inner) = (OperationQueue(name: "outer"), OperationQueue(name: "inner"))
        let test = TestWatch()
        let delayed = inner.add("delayed", .delay(.seconds(100_000)), .mayFail) {}
        let missing = Operation()
        missing.name = "missing"
        let waits = Signal()
        outer.add("waits") {
            waits.send()
            delayed.waitUntilFinished()
        }
        outer.add("hangs") {
            waits.send()
            missing.waitUntilFinished()
        }
        waits.wait()
        waits.wait()
        #expect(
            await comesTrue { "\(outer.explain())".components(of: "and waits for") == 2 },
            "both wait")
        test.watch(outer)
        test.pass(seconds: 100)
        #expect(test.stalls.events.flatMap { $0.operations.map(\.name) } == ["'hangs'"])
        delayed.cancel()
        missing.start()
        await outer.drain()
        await inner.drain()
    }

    @Test func withoutALimitOperationsAreNotReported() async {
        let queue = OperationQueue(name: "listener")
        let (begun, end) = (Signal(), Signal())
        queue.add("listens") {
            begun.send()
            end.wait()
        }
        begun.wait()
        let test = TestWatch()
        test.watch(queue, operationLimit: nil)
        test.pass(seconds: 200)
        #expect(test.stalls.events.isEmpty)
        end.send()
        await queue.drain()
    }

    @Test func readyOperationThatGetsNoSlotIsAStallOfTheQueue() async {
        let queue = OperationQueue(name: "narrow", width: 1)
        let (begun, end) = (Signal(), Signal())
        queue.add("holds the slot") {
            begun.send()
            end.wait()
        }
        begun.wait()
        queue.add("ready") {}
        let test = TestWatch()
        test.watch(queue)
        test.pass(seconds: 100)
        #expect(test.stalls.events.map(\.isOfWholeQueue) == [true])
        #expect(test.stalls.events.first?.operations.map(\.name) == ["'holds the slot'"])
        end.send()
        await queue.drain()
    }

    @Test func runningGraphGoesOnWithItsNodes() async throws {
        let queue = OperationQueue(name: "graphs", width: 1)
        let test = TestWatch()
        test.watch(queue)
        let (begun, next) = (Signal(), Signal())
        var graph = BlockGraph("steps")
        let body: @Sendable () -> Void = {
            begun.send()
            next.wait()
        }
        var last = graph.add(body: body)
        for _ in 1..<20 { last = graph.add(after: last, body: body) }
        try queue.add(graph)
        for _ in 0..<20 {
            begun.wait()
            test.pass(seconds: 4)
            next.send()
        }
        await queue.drain()
        #expect(test.stalls.events.isEmpty)
    }

    /// While other nodes of the graph go on, and again when nothing goes on any more: not again.
    @Test func nodeThatHangsIsReportedByItself() async throws {
        let queue = OperationQueue(name: "graphs", width: 2)
        let test = TestWatch()
        test.watch(queue)
        let (hangs, mayEnd, begun, next) = (Signal(), Signal(), Signal(), Signal())
        var graph = BlockGraph("steps")
        graph.add("stuck") {
            hangs.send()
            mayEnd.wait()
        }
        let body: @Sendable () -> Void = {
            begun.send()
            next.wait()
        }
        var last = graph.add(body: body)
        for _ in 1..<20 { last = graph.add(after: last, body: body) }
        try queue.add(graph)
        hangs.wait()
        for number in 0..<20 {
            begun.wait()
            test.pass(seconds: 4)
            #expect(test.stalls.events.count == (number < 8 ? 0 : 1), "\(number)")
            next.send()
        }
        let stall = try #require(test.stalls.events.first)
        #expect(!stall.isOfWholeQueue && stall.unfinishedCount == 1)
        #expect(stall.operations.map(\.name) == ["'stuck'"])
        #expect(stall.operations.first?.isSuspended == false)
        #expect("\(stall.explanation)".contains("'stuck'"))
        #if os(Linux)
        #expect(stall.operations.first?.thread?.contains("wait") == true)
        #endif
        test.pass(seconds: 100)
        #expect(test.stalls.events.count == 1)
        mayEnd.send()
        await queue.drain()
    }

    @Test func nodeWithoutANameIsReportedByItsNumber() async throws {
        let queue = OperationQueue(name: "graphs")
        let test = TestWatch()
        test.watch(queue)
        let (begun, mayEnd) = (Signal(), Signal())
        var graph = BlockGraph("steps")
        graph.add {
            begun.send()
            mayEnd.wait()
        }
        try queue.add(graph)
        begun.wait()
        test.pass(seconds: 100)
        // The graph is not reported besides.
        let names = test.stalls.events.map { $0.operations.map(\.name) }
        #expect(names == [["node 0 of graph 'steps'"]])
        mayEnd.send()
        await queue.drain()
    }

    @Test func nodeThatWaitsForWhatGoesOnIsNotReported() async throws {
        let (queue, other) = (OperationQueue(name: "graphs"), OperationQueue(width: 1))
        let test = TestWatch()
        test.watch(queue)
        let begun = Signal()
        let awaited = other.add("awaited", .delay(.seconds(3_600))) {}
        var graph = BlockGraph("steps")
        graph.add {
            begun.send()
            awaited.waitUntilFinished()
        }
        let run = try #require(try queue.add(graph) as? BlockGraphRun)
        begun.wait()
        #expect(
            await comesTrue {
                run.operation(ofNode: 0).map { !BlockedWait.targets(in: $0).isEmpty } ?? false
            })
        test.pass(seconds: 100)
        #expect(test.stalls.events.isEmpty)
        awaited.cancel()
        await queue.drain()
    }

    @Test func suspendedQueueIsNotReported() async {
        let queue = suspendedQueue()
        queue.addOperation(Operation())
        let test = TestWatch()
        test.watch(queue, after: .seconds(1))
        test.pass(seconds: 50)
        #expect(test.stalls.events.isEmpty)
        queue.isSuspended = false
        await queue.drain()
    }

    @Test func reportsEndOnRequestAndWithTheirQueue() async {
        let test = TestWatch()
        weak var gone: OperationQueue?
        let queue = OperationQueue()
        let missing = Operation()
        let waiting = Operation()
        waiting.addDependency(missing)
        queue.addOperation(waiting)
        test.watch(queue, after: .seconds(1)).end()
        do {
            let other = OperationQueue()
            gone = other
            test.watch(other, after: .seconds(1))
        }
        // A look-up by another test may still hold the queue.
        #expect(await comesTrue { gone == nil }, "the reports do not retain the queue")
        test.pass(seconds: 10)
        missing.start()
        await queue.drain()
        #expect(test.stalls.events.isEmpty)
    }

    @Test func oneThreadWatchesAllQueues() {
        let queues = (0..<100).map { OperationQueue(name: "tenant \($0)") }
        let before = threadCount(named: "Operation-stall")
        let reports = queues.map { $0.reportStalls(after: .seconds(60)) { _ in } }
        let after = threadCount(named: "Operation-stall")
        for report in reports { report.end() }
        #expect(before.map { $0 <= 2 } ?? true)
        #expect(after.map { $0 <= 2 } ?? true, "one that watches, and one that reports")
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

private struct CocoaLikeError: Error {}

/// The number of threads of the process with a name; nil if the system does not say.
private func threadCount(named name: String) -> Int? {
    #if os(Linux)
    guard let folder = opendir("/proc/self/task") else { return nil }
    defer { closedir(folder) }
    var count = 0
    while let entry = readdir(folder) {
        let thread = withUnsafeBytes(of: entry.pointee.d_name) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        guard let file = fopen("/proc/self/task/\(thread)/comm", "r") else { continue }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 64)
        if fgets(&line, 64, file) != nil,
            String(
                decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) },
                as: UTF8.self) == name
        {
            count += 1
        }
    }
    return count
    #else
    return nil
    #endif
}
