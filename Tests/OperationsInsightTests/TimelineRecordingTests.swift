import OperationsTestSupport
import Testing

@testable import Operations
@testable import OperationsInsight

/// When a timeline records, and how much.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct TimelineRecordingTests {
    // MARK: Limits

    @Test func eventsBeyondLimitAreDroppedAndCounted() async throws {
        let queue = serialQueue()
        let timeline = OperationTimeline(limit: 40)
        timeline.record(queue)
        let operations = (0..<100).map { _ in BlockOperation {} }
        await queue.addOperations(operations, waitUntilFinished: true)
        await queue.drain()
        #expect(timeline.eventCount <= 40)
        #expect(timeline.eventCount + timeline.droppedEventCount == 100)
        let trace = try Trace(timeline.chromeTrace())
        #expect(trace.runs.count == timeline.eventCount)
        let dropped = trace.otherData["droppedEvents"]
        #expect(dropped == "\(timeline.droppedEventCount)")
        #expect(trace.events.contains { $0.name.contains("events were dropped") })
    }

    @Test func limitOfZeroKeepsNothing() async throws {
        let queue = OperationQueue()
        let timeline = OperationTimeline(limit: 0)
        timeline.record(queue)
        await queue.addOperations([BlockOperation {}], waitUntilFinished: true)
        await queue.drain()
        #expect(timeline.eventCount == 0 && timeline.droppedEventCount == 1)
    }

    /// The window has no length, so each thread keeps its latest chunks only.
    @Test func eventsOlderThanWindowAreDropped() async throws {
        let queue = serialQueue()
        // Each thread that runs operations may keep up to 512 old events.
        let timeline = OperationTimeline(keeping: .zero, limit: 20_000)
        timeline.record(queue)
        let count = max(200, 1_000 / slowness)
        for round in 0..<40 {
            let operations = (0..<count).map { number in
                let operation = BlockOperation {}
                operation.name = "\(round) \(number)"
                return operation
            }
            await queue.addOperations(operations, waitUntilFinished: true)
        }
        await queue.drain()
        #expect(timeline.droppedEventCount == 0)
        // At most half is left. Which events these are depends on how often the threads took turns:
        // a thread that ran little may keep its first events.
        #expect(timeline.eventCount < 20_000)
        let trace = try Trace(timeline.chromeTrace())
        #expect(trace.problems.isEmpty)
        #expect(trace.runs.contains { $0.name == "39 \(count - 1)" })
    }

    @Test func eventsWithinWindowAreKept() async {
        let queue = serialQueue()
        let timeline = OperationTimeline(keeping: .seconds(Int64.max))
        timeline.record(queue)
        for _ in 0..<3 {
            let operations = (0..<1_000).map { _ in BlockOperation {} }
            await queue.addOperations(operations, waitUntilFinished: true)
        }
        await queue.drain()
        #expect(timeline.eventCount == 3_000)
    }

    // MARK: Slices

    @Test func slicesShowFinishedAndRunningOperations() async throws {
        let queue = OperationQueue()
        queue.name = "work"
        let timeline = OperationTimeline(keeping: .seconds(3_600))
        timeline.record(queue)
        let (began, release) = (Signal(), Signal())
        let first = queue.add("first") {}
        await first.finished()
        let second = queue.add("second", after: first) { _ in
            began.send()
            release.wait()
        }
        #expect(await began.arrives())
        let now = timeline.elapsed
        let running = try #require(timeline.slices().last)
        #expect(running.name == "second" && running.queue == queue.label && running.end == nil)
        #expect(running.start <= now && !running.isTask)
        release.send()
        await second.finished()
        await queue.drain()
        let slices = timeline.slices()
        #expect(slices.map(\.name) == ["first", "second"])
        for slice in slices {
            let end = try #require(slice.end)
            #expect(slice.start <= end && end <= timeline.elapsed)
        }
        #expect(timeline.slices(since: now).map(\.name) == ["second"])
        let task = queue.add("task") { await Task.yield() }
        await task.finished()
        await queue.drain()
        #expect(timeline.slices().last?.isTask == true)
    }

    // MARK: Threads made for one operation

    /// A worker begins the operation, whose body runs and waits on a thread made for it.
    @Test(arguments: [true, false])
    func operationWithThreadPriorityIsOnTrackOfItsWorker(isClaimedAlone: Bool) async throws {
        let (queue, other) = (serialQueue(), OperationQueue())
        let timeline = OperationTimeline()
        timeline.record(queue)
        let work: @Sendable () -> Void = {
            let awaited = BlockOperation {}
            other.addOperation(awaited)
            awaited.waitUntilFinished()
        }
        let operation =
            isClaimedAlone ? SubclassedOperation(block: work) : BlockOperation(block: work)
        operation.name = "own"
        operation.threadPriority = 0.4
        await queue.addOperations([operation], waitUntilFinished: true)
        let trace = try Trace(timeline.chromeTrace())
        #expect(trace.problems.isEmpty)
        let tracks = trace.tracks(of: "own")
        #expect(tracks.count == 1 && tracks.allSatisfy { $0.hasPrefix("worker ") })
        let threads = Set(trace.runs.filter { $0.name == "own" }.map(\.thread))
        #expect(threads.isSuperset(of: trace.blocked.map(\.thread)))
    }

    // MARK: Beginning and ending

    @Test func nothingIsRecordedBeforeStartOrAfterStop() async throws {
        let queue = OperationQueue()
        let timeline = OperationTimeline()
        await queue.addOperations([block("before")], waitUntilFinished: true)
        timeline.record(queue)
        await queue.addOperations([block("during")], waitUntilFinished: true)
        await queue.drain()
        timeline.stop()
        await queue.addOperations([block("after")], waitUntilFinished: true)
        timeline.record(queue)
        await queue.addOperations([block("later")], waitUntilFinished: true)
        await queue.drain()
        #expect(try Trace(timeline.chromeTrace()).runs.map(\.name) == ["during"])
        #expect(!queue.isObserved)
    }

    @Test func waitingOperationsAreShownFromStartOfRecording() async throws {
        let queue = suspendedQueue()
        let operations = [block("ready"), Operation(), block("waits")]
        operations[2].addDependency(operations[1])
        await queue.addOperations(operations, waitUntilFinished: false)
        let timeline = OperationTimeline()
        timeline.record(queue)
        queue.isSuspended = false
        await queue.drain()
        let trace = try Trace(timeline.chromeTrace())
        #expect(trace.problems == [])
        #expect(trace.runs.count == 3)
    }

    @Test func anotherTimelineTakesOverQueue() async throws {
        let queue = OperationQueue()
        let (first, second) = (OperationTimeline(), OperationTimeline())
        first.record(queue)
        await queue.addOperations([block("one")], waitUntilFinished: true)
        await queue.drain()
        second.record(queue)
        await queue.addOperations([block("two")], waitUntilFinished: true)
        await queue.drain()
        first.stop()
        await queue.addOperations([block("three")], waitUntilFinished: true)
        await queue.drain()
        #expect(try Trace(first.chromeTrace()).runs.map(\.name) == ["one"])
        #expect(try Trace(second.chromeTrace()).runs.map(\.name).sorted() == ["three", "two"])
    }

    @Test func releasedTimelineStopsRecordingAndDoesNotRetainItsQueue() async {
        let queue = OperationQueue()
        do {
            let timeline = OperationTimeline()
            timeline.record(queue)
            #expect(queue.isObserved)
        }
        #expect(!queue.isObserved)
        weak var gone: OperationQueue?
        let timeline = OperationTimeline()
        do {
            let other = OperationQueue()
            gone = other
            timeline.record(other)
            await other.addOperations([block("last")], waitUntilFinished: true)
            await other.drain()
        }
        #expect(await comesTrue { gone == nil })
        timeline.stop()
        #expect(timeline.chromeTrace().contains("last"))
    }

    // MARK: Stress

    /// A recording that ends looks up its queues, and another thread may release the last
    /// references to them at that moment.
    @Test func queuesMayGoWhileRecordingEnds() async {
        for _ in 0..<100 {
            let timeline = OperationTimeline()
            let queues = (0..<300).map { _ in OperationQueue() }
            queues.forEach(timeline.record)
            let release = Task { [queues] in _ = queues.count }
            _ = consume queues
            timeline.stop()
            await release.value
        }
    }

    @Test func threadsRecordWhileTraceIsRead() async throws {
        let queues = (0..<3).map { _ in OperationQueue() }
        let timeline = OperationTimeline(limit: 100_000)
        for queue in queues { timeline.record(queue) }
        await withTaskGroup { group in
            for queue in queues {
                group.addTask {
                    for round in 0..<40 {
                        let first = BlockOperation {}
                        let others = (0..<10).map { number -> Operation in
                            let operation: Operation =
                                number % 3 == 0
                                ? TypedOperation<Void> {}
                                : number % 3 == 1 ? BlockOperation {} : Operation()
                            operation.addDependency(first)
                            if number == round % 10 { operation.cancel() }
                            return operation
                        }
                        await queue.addOperations([first] + others, waitUntilFinished: false)
                    }
                    await queue.drain()
                }
            }
            group.addTask {
                for _ in 0..<10 { _ = timeline.chromeTrace() }
            }
        }
        timeline.stop()
        let trace = try Trace(timeline.chromeTrace())
        #expect(trace.problems == [])
        #expect(trace.runs.count == 3 * 40 * 10)
        #expect(timeline.droppedEventCount == 0)
    }
}

/// A worker claims the operation alone and calls `start()`.
private final class SubclassedOperation: BlockOperation, @unchecked Sendable {}
