import Dispatch
import OperationsRuntime
import OperationsTestSupport
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

/// A subclass that keeps its own state, and finishes on another thread.
private final class OperationEndingElsewhere: Operation, @unchecked Sendable {
    private let stage = Locked((hasBegun: false, hasEnded: false))

    override var isExecuting: Bool { stage.withLock { $0.hasBegun && !$0.hasEnded } }
    override var isFinished: Bool { stage.withLock { $0.hasEnded } }
    override var isAsynchronous: Bool { true }

    override func start() {
        change("isExecuting") { $0.hasBegun = true }
        DispatchQueue.global().async { [self] in
            change("isExecuting", "isFinished") { $0.hasEnded = true }
        }
    }

    private func change(
        _ keys: String..., by body: (inout (hasBegun: Bool, hasEnded: Bool)) -> Void
    ) {
        for key in keys { willChangeValue(forKey: key) }
        stage.withLock { body(&$0) }
        for key in keys { didChangeValue(forKey: key) }
    }
}

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct TimelineTests {
    @Test func runsAreShownWithQueueAndDependencies() async throws {
        let queue = suspendedQueue()
        queue.name = "Pictures"
        let timeline = OperationTimeline()
        timeline.record(queue)
        let (load, decode, show) = (block("load"), block("decode"), block("show"))
        decode.addDependency(load)
        show.addDependency(load)
        show.addDependency(decode)
        show.queuePriority = .high
        await queue.addOperations([load, decode, show], waitUntilFinished: false)
        queue.isSuspended = false
        await queue.drain()
        timeline.stop()

        let trace = try Trace(timeline.chromeTrace())
        #expect(trace.problems == [])
        #expect(trace.runs.map(\.name).sorted() == ["decode", "load", "show"])
        #expect(trace.run("show")?.argument("queue") == "queue 'Pictures'")
        #expect(trace.run("show")?.argument("priority") == "high")
        #expect(trace.run("show")?.argument("outcome") == nil)
        #expect(trace.arrows == ["load → decode", "load → show", "decode → show"])
        #expect(trace.names("process_name").contains("queue 'Pictures'"))
        #expect(trace.names("thread_name").contains { $0.hasPrefix("worker ") })
        let (loads, shows) = (trace.run("load"), trace.run("show"))
        #expect((loads?.end ?? .infinity) <= (shows?.start ?? 0))
        #expect(timeline.eventCount >= 3 && timeline.droppedEventCount == 0)
    }

    @Test func waitForPermitsIsShownAsWait() async throws {
        let queue = OperationQueue()
        let timeline = OperationTimeline()
        timeline.record(queue)
        let budget = ConcurrencyBudget(1)
        let (started, proceed) = (Signal(), Signal())
        queue.add("first", .cost(1, of: budget)) {
            started.send()
            proceed.wait()
        }
        #expect(await started.arrives())
        let second = queue.add("second", .cost(1, of: budget)) {}
        #expect(await comesTrue { second.explain().description.contains("waits for 1 of") })
        proceed.send()
        await queue.drain()
        let trace = try Trace(timeline.chromeTrace())
        #expect(trace.problems == [])
        let waiting = trace.intervals("waiting").map { $0.begin.argument("operation") }
        #expect(waiting.contains("second"))
        let ready = trace.intervals("ready").last { $0.begin.argument("operation") == "second" }
        #expect((ready?.begin.start ?? 0) >= (trace.run("first")?.end ?? .infinity))
    }

    @Test func operationStartedBeforeRecordingIsNotShown() async throws {
        let queue = OperationQueue()
        queue.measuresOperations = true
        let (started, proceed) = (Signal(), Signal())
        queue.addOperation(
            block("before") {
                started.send()
                proceed.wait()
            })
        #expect(await started.arrives())
        let timeline = OperationTimeline()
        timeline.record(queue)
        #expect(try Trace(timeline.chromeTrace()).runs.isEmpty)
        proceed.send()
        await queue.drain()
        #expect(try Trace(timeline.chromeTrace()).runs.isEmpty)
    }

    @Test func waitingAndReadyIntervalsAreSlicesOfQueue() async throws {
        let (queue, other) = (OperationQueue(), suspendedQueue())
        let timeline = OperationTimeline()
        timeline.record(queue)
        timeline.record(other)
        let first = block("first")
        let second = block("second")
        second.addDependency(first)
        queue.addOperation(second)
        other.addOperation(first)
        other.isSuspended = false
        await queue.drain()
        await other.drain()

        let trace = try Trace(timeline.chromeTrace())
        #expect(trace.problems == [])
        let waiting = trace.intervals("waiting").map { $0.begin.argument("operation") }
        #expect(waiting == ["second"])
        let ready = trace.intervals("ready").compactMap { $0.begin.argument("operation") }
        #expect(Set(ready) == ["first", "second"])
        #expect(trace.arrows == ["first → second"])
        for (begin, end) in trace.intervals("ready") {
            let run = begin.argument("operation").flatMap { trace.run($0) }
            #expect(begin.start <= end.start && run?.start == end.start)
        }
    }

    @Test func chainOfOneBatchIsShownInOrder() async throws {
        let queue = suspendedQueue()
        let timeline = OperationTimeline()
        timeline.record(queue)
        var chain: [Operation] = []
        for number in 0..<300 {
            let operation = BlockOperation {}
            if number % 3 == 0 { operation.name = "\(number)" }
            if let last = chain.last { operation.addDependency(last) }
            chain.append(operation)
        }
        await queue.addOperations(chain, waitUntilFinished: false)
        queue.isSuspended = false
        await queue.drain()
        let trace = try Trace(timeline.chromeTrace())
        #expect(trace.problems == [])
        #expect(trace.runs.count == 300)
        #expect(trace.events.filter { $0.phase == "s" }.count == 299)
        #expect(trace.runs.contains { $0.name == "BlockOperation" })
        let sorted = trace.runs.sorted { $0.start < $1.start }.map(\.name).filter { Int($0) != nil }
        #expect(sorted == stride(from: 0, to: 300, by: 3).map { "\($0)" })
    }

    @Test func asyncOperationsAreShownOnLanesOfTheirQueue() async throws {
        let queue = OperationQueue()
        let timeline = OperationTimeline()
        timeline.record(queue)
        let (fetch, fail) = (
            TypedOperation<Void> { await Task.yield() },
            TypedOperation<Void> {
                await Task.yield()
                throw Failed()
            }
        )
        let after = block("after")
        fetch.name = "fetch"
        fail.name = "fail"
        after.addDependency(fetch)
        await queue.addOperations([fetch, fail, after], waitUntilFinished: true)
        await queue.drain()
        let trace = try Trace(timeline.chromeTrace())
        #expect(trace.problems == [])
        #expect(fail.error is Failed && trace.run("fail")?.argument("outcome") == "failed")
        #expect(trace.run("fetch")?.argument("outcome") == nil)
        let lanes = trace.tracks(of: "fetch").union(trace.tracks(of: "fail"))
        #expect(lanes.allSatisfy { ["async 1", "async 2"].contains($0) }, "\(lanes)")
        #expect(trace.run("fetch")?.process != trace.run("after")?.process)
        #expect(trace.tracks(of: "after").allSatisfy { $0.hasPrefix("worker ") })
        #expect(trace.arrows == ["fetch → after"])
    }

    @Test func lanesDoNotExceedWidth() async throws {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 3
        let timeline = OperationTimeline()
        timeline.record(queue)
        let operations = (0..<12).map { _ in TypedOperation<Void> { await Task.yield() } }
        await queue.addOperations(operations, waitUntilFinished: true)
        await queue.drain()
        let trace = try Trace(timeline.chromeTrace())
        #expect(trace.problems == [])
        #expect(trace.runs.count == 12)
        let lanes = trace.names("thread_name").filter { $0.hasPrefix("async") }
        #expect(!lanes.isEmpty && lanes.count <= 3, "\(lanes)")
    }

    @Test func tracksAreInOrder() {
        let names = ["worker 10", "main thread", "worker 9", "thread 3"]
        let threads = names.enumerated().map { number, name in
            TimelineTrace.Thread(
                number: number, name: name,
                contents: TimelineBuffer.Contents(events: [event], names: [], dropped: 0))
        }
        let picture = TimelineTrace(
            start: 0, end: 10, limit: 10, queues: ["first", "second"], threads: threads, running: []
        )
        let tracks = TimelineTracks(picture)
        #expect(
            tracks.program.tracks.map(\.name) == [
                "main thread", "thread 3", "worker 9", "worker 10",
            ])
        #expect(tracks.queues.map(\.name) == ["first", "second"])
        let numbers = tracks.processes.flatMap { [$0.number] + $0.tracks.map(\.number) }
        #expect(numbers == Array(1...7))
    }

    /// The event of an end can be dropped earlier than that of the beginning, which another thread
    /// may have recorded.
    @Test(arguments: [(50, [], 0), (50, [7], 1), (5, [], 1)] as [(UInt64, Set<UInt>, Int)])
    func endedOperationIsNotShownAsRunning(
        oldest: UInt64, unfinished: Set<UInt>, shown: Int
    ) {
        var event = TimelineEvent()
        event.kind = .startedTask
        (event.operation, event.third) = (7, 10)
        let trace = TimelineTrace(
            start: 0, end: 100, limit: 10, queues: ["queue"],
            threads: [
                .init(
                    number: 1, name: "worker 1",
                    contents: TimelineBuffer.Contents(events: [event], names: [], dropped: 0))
            ], running: [], unfinished: .init(operations: unfinished, oldest: oldest))
        #expect(trace.slices(since: .zero).count == shown)
    }

    private var event: TimelineEvent {
        var event = TimelineEvent()
        event.kind = .ran
        (event.third, event.fourth) = (1, 2)
        return event
    }

    private struct Failed: Error {}

    @Test func eachAttemptIsShownWithItsOutcome() async throws {
        struct Busy: Error {}
        let queue = OperationQueue()
        let timeline = OperationTimeline()
        timeline.record(queue)
        let attempts = Tally()
        let flaky = queue.add("flaky", .retry(2, backoff: .constant(.milliseconds(1)))) {
            if attempts.increment() < 3 { throw Busy() }
        }
        await flaky.finished()
        let trace = try Trace(timeline.chromeTrace())
        #expect(trace.problems == [])
        let runs = trace.runs.filter { $0.name == "flaky" }.sorted { $0.start < $1.start }
        #expect(runs.map { $0.argument("outcome") } == ["failed", "failed", nil])
        for (run, next) in zip(runs, runs.dropFirst()) { #expect(run.end <= next.start) }
    }

    @Test func subclassesAreShownByThreadOrTask() async throws {
        final class Plain: Operation, @unchecked Sendable {}
        let queue = OperationQueue()
        let timeline = OperationTimeline()
        timeline.record(queue)
        let dispatched = OperationEndingElsewhere()
        dispatched.name = "dispatched"
        await queue.addOperations([Plain(), dispatched], waitUntilFinished: true)
        await queue.drain()
        let trace = try Trace(timeline.chromeTrace())
        #expect(trace.problems == [])
        #expect(trace.run("Plain")?.argument("outcome") == nil)
        #expect(trace.run("dispatched")?.process != trace.run("Plain")?.process)
    }

    @Test func cancelledOperationIsShownOnlyWhileWaiting() async throws {
        let queue = suspendedQueue()
        let timeline = OperationTimeline()
        timeline.record(queue)
        let operations = [block("plain"), Operation(), block("waits")]
        operations[1].name = "other"
        operations[2].addDependency(operations[0])
        await queue.addOperations(operations, waitUntilFinished: false)
        queue.cancelAllOperations()
        await queue.drain()
        let trace = try Trace(timeline.chromeTrace())
        #expect(trace.problems == [])
        #expect(trace.runs.isEmpty)
        let waited = (trace.intervals("ready") + trace.intervals("waiting"))
            .compactMap { $0.begin.argument("operation") }
        #expect(Set(waited) == ["other", "plain", "waits"])
    }

    @Test func operationCancelledWhileRunningIsShownAsCancelled() async throws {
        let queue = OperationQueue()
        let timeline = OperationTimeline()
        timeline.record(queue)
        let (began, mayEnd) = (Signal(), Signal())
        let operation = block("long") {
            began.send()
            mayEnd.wait()
        }
        queue.addOperation(operation)
        await onThread { _ = began.wait() }
        operation.cancel()
        mayEnd.send()
        await queue.drain()
        let trace = try Trace(timeline.chromeTrace())
        #expect(trace.run("long")?.argument("outcome") == "cancelled")
    }

    @Test func runningOperationIsShownUntilNow() async throws {
        let queue = OperationQueue()
        let timeline = OperationTimeline()
        timeline.record(queue)
        let (began, mayEnd) = (Signal(), Signal())
        queue.addOperation(
            block("long") {
                began.send()
                mayEnd.wait()
            })
        await onThread { _ = began.wait() }
        let during = try Trace(timeline.chromeTrace())
        #expect(during.problems == [])
        #expect(during.run("long")?.argument("outcome") == "running")
        timeline.stop()
        mayEnd.send()
        await queue.drain()
        let after = try Trace(timeline.chromeTrace())
        #expect(after.run("long")?.argument("outcome") == "running")
        #expect(after.runs.count == 1)
    }

    @Test func waitsInsideOperationAreShown() async throws {
        let (queue, inner) = (OperationQueue(), OperationQueue())
        let timeline = OperationTimeline()
        timeline.record(queue)
        let (mayEnd, waits) = (Signal(), Signal())
        let part = block("part") { mayEnd.wait() }
        inner.addOperation(part)
        let whole = block("whole") {
            waits.send()
            part.waitUntilFinished()
        }
        let after = block("after")
        after.addDependency(whole)
        await queue.addOperations([whole, after], waitUntilFinished: false)
        await onThread {
            _ = waits.wait()
            // Until the library knows of the wait.
            while queue.operations.first?.explain().description.contains("waits for") == false {
                sched_yield()
            }
            mayEnd.send()
        }
        await queue.drain()
        let trace = try Trace(timeline.chromeTrace())
        #expect(trace.problems == [])
        #expect(trace.blocked.count == 1)
        #expect(trace.arrows == ["whole → after"], "it starts at the operation, not at its wait")
        let (wait, run) = (trace.blocked.first, trace.run("whole"))
        #expect(wait?.thread == run?.thread)
        #expect((wait?.start ?? 0) >= (run?.start ?? 1) && (wait?.end ?? 1) <= (run?.end ?? 0))
        #expect(trace.run("part") == nil, "its queue is not recorded")
    }

    @Test func namesMayContainAnyCharacter() async throws {
        let queue = OperationQueue()
        queue.name = "\"quoted\"\\ \n\t\u{1}"
        let timeline = OperationTimeline()
        timeline.record(queue)
        let name = "a \"b\" \\ {[]} \n \r \u{0}\u{1f} ü 日本 👩‍👩‍👧 \u{2028}"
        await queue.addOperations([block(name)], waitUntilFinished: true)
        await queue.drain()
        let trace = try Trace(timeline.chromeTrace())
        #expect(trace.run(name)?.argument("queue") == queue.label)
    }

    @Test func barrierIsShown() async throws {
        let queue = OperationQueue()
        let timeline = OperationTimeline()
        timeline.record(queue)
        queue.addBarrierBlock {}
        await queue.drain()
        #expect(try Trace(timeline.chromeTrace()).runs.map(\.name) == ["barrier"])
    }
}
