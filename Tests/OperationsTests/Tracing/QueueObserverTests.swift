import OperationsTestKit
import Synchronization
import TestSupport
import Testing

@testable import Operations

/// The events that a queue observer receives, their order, and how it can wrap operation bodies.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct QueueObserverTests {
    private enum Marker {
        @TaskLocal static var value = ""
    }

    private final class RecordingQueueObserver: QueueObserver {
        let recorder = Recorder<String>()

        func observer(of operation: Operation, in queue: OperationQueue) -> (any OperationObserver)?
        {
            operation.name.map { RecordingOperationObserver($0, self) }
        }
        func observationEnded() { recorder.record("over") }
    }

    private final class RecordingOperationObserver: OperationObserver {
        let name: String
        let owner: RecordingQueueObserver

        init(_ name: String, _ owner: RecordingQueueObserver) {
            self.name = name
            self.owner = owner
        }

        private func record(_ event: String) { owner.recorder.record("\(name) \(event)") }

        var queueObserver: any QueueObserver { owner }
        func operationAdded() { record("added") }
        func operationStarted(_ operation: Operation, waiting: Duration?) {
            record(waiting == nil ? "started" : "started after a wait")
        }
        func perform(_ body: () -> Void) { Marker.$value.withValue(name, operation: body) }
        func perform(_ body: @Sendable () async -> Void) async {
            await Marker.$value.withValue(name) { await body() }
        }
        func operationRanOutOfTime(_ operation: Operation, _ error: any Error) {
            record("ran out of time")
        }
        func operationReturned(_ operation: Operation, _ attempt: OperationAttempt) {
            record("returned: \(attempt.error.map { "\($0)" } ?? "fine")")
        }
        func operationEnded(_ operation: Operation, _ end: OperationEnd) {
            let why = end.error.map { ", \($0)" } ?? end.reason.map { ", \($0)" } ?? ""
            record("\(end.outcome)\(why)\(end.running == nil ? ", never ran" : "")")
        }
        func observationEnded() { record("over") }
    }

    private struct Broken: Error, CustomStringConvertible {
        var description: String { "broken" }
    }

    @Test func observerReceivesEventsOfEachOperation() async {
        let observer = RecordingQueueObserver()
        let queue = serialQueue()
        let observation = queue.setObserver(observer)
        for (name, operation) in [("block", BlockOperation {}), ("other", Operation())] {
            operation.name = name
            await queue.addOperations([operation], waitUntilFinished: true)
            await queue.drain()
        }
        queue.isSuspended = true
        let cancelled = queue.add("cancelled") {}
        cancelled.cancel(because: "nobody wants it")
        await queue.drain()
        observation.end()
        queue.isSuspended = false
        await queue.addOperations([BlockOperation {}], waitUntilFinished: true)
        _ = try? await queue.add("later") {}.value
        #expect(
            observer.recorder.events == [
                "block added", "block started after a wait", "block finished",
                "other added", "other started after a wait", "other finished",
                "cancelled added", "cancelled cancelled, nobody wants it, never ran",
                "over",
            ])
    }

    @Test func observerReceivesEventsOfEachAttempt() async {
        let observer = RecordingQueueObserver()
        let queue = OperationQueue()
        _ = queue.setObserver(observer)
        let attempts = Tally()
        let operation = queue.add("flaky", .retry(3, backoff: .constant(.milliseconds(1)))) {
            if attempts.increment() < 3 { throw Broken() }
        }
        await operation.finished()
        await queue.drain()
        #expect(
            observer.recorder.events == [
                "flaky added", "flaky started after a wait", "flaky returned: broken",
                "flaky started after a wait", "flaky returned: broken",
                "flaky started after a wait", "flaky finished",
            ])
    }

    @Test func expiryIsReportedBeforeEnd() async {
        let (observer, clock) = (RecordingQueueObserver(), ManualClock())
        let queue = OperationQueue(clock)
        _ = queue.setObserver(observer)
        let began = Signal()
        let slow = queue.add("slow", .timeout(.milliseconds(5))) {
            began.send()
            try await untilCancelled()
        }
        #expect(await began.arrives())
        await clock.advance(by: .milliseconds(5), whenSleepers: 1)
        await slow.finished()
        #expect(slow.error is OperationTimeout)
        await queue.drain()
        let events = observer.recorder.events
        #expect(events.dropLast().last == "slow ran out of time")
        #expect(events.last == "slow failed, 'slow' took longer than 5 ms")
    }

    /// Every kind of body, on every path that runs it.
    @Test(arguments: [false, true])
    func observerWrapsEachBody(isScope: Bool) async throws {
        final class Subclass: Operation, @unchecked Sendable {
            let seen: Recorder<String>
            init(_ seen: Recorder<String>) { self.seen = seen }
            override func main() { seen.record("\(name ?? "") \(Marker.value)") }
        }
        let seen = Recorder<String>()
        let observer = RecordingQueueObserver()
        let add: @Sendable (OperationQueue) -> Void = { queue in
            _ = queue.setObserver(observer)
            queue.add("block") { seen.record("block \(Marker.value)") }
            queue.add("async") {
                seen.record("async \(Marker.value)")
                await Task.yield()
                seen.record("async \(Marker.value)")
            }
            queue.add("retried", .retry(1)) {
                await Task.yield()
                seen.record("retried \(Marker.value)")
            }
            queue.add("urgent", .qualityOfService(.userInitiated)) {
                await Task.yield()
                seen.record("urgent \(Marker.value)")
            }
            // The two blocks need two threads.
            let (one, other) = (Signal(), Signal())
            let several = BlockOperation {
                one.send()
                #expect(other.wait())
                seen.record("several \(Marker.value)")
            }
            several.addExecutionBlock {
                other.send()
                #expect(one.wait())
                seen.record("several \(Marker.value)")
            }
            several.name = "several"
            let subclass = Subclass(seen)
            subclass.name = "subclass"
            queue.addOperation(several)
            queue.addOperation(subclass)
            // An operation without an observer sees the value of its surroundings.
            queue.addOperation { seen.record("nobody \(Marker.value)") }
        }
        if isScope {
            try await withOperationQueue { queue in add(queue) }
        } else {
            let queue = OperationQueue()
            add(queue)
            await queue.drain()
        }
        let expected =
            ["block", "async", "async", "retried", "urgent", "subclass"].map { "\($0) \($0)" }
            + Array(repeating: "several several", count: 2) + ["nobody "]
        #expect(seen.events.sorted() == expected.sorted())
    }

    @Test func newObserverReplacesPreviousOne() async {
        let (first, second) = (RecordingQueueObserver(), RecordingQueueObserver())
        let queue = suspendedQueue()
        let observation = queue.setObserver(first)
        queue.add("early") {}
        _ = queue.setObserver(second)
        // The first observer has already been replaced.
        observation.end()
        queue.add("late") {}
        queue.isSuspended = false
        await queue.drain()
        #expect(first.recorder.events.prefix(3) == ["early added", "over", "early over"])
        #expect(
            second.recorder.events == ["late added", "late started after a wait", "late finished"])
    }

    @Test func observationRetainsNeitherQueueNorOperation() async {
        weak var observer: RecordingQueueObserver?
        weak var operation: Operation?
        weak var queue: OperationQueue?
        let observation: QueueObservation
        do {
            let added = RecordingQueueObserver()
            let own = OperationQueue()
            observation = own.setObserver(added)
            let last = own.add("kept by nobody") {}
            (observer, operation, queue) = (added, last, own)
            await last.finished()
            await own.drain()
        }
        #expect(await comesTrue { operation == nil && queue == nil })
        #expect(observer != nil)
        // The queue is gone: there is nothing to end.
        observation.end()
        #expect(observer?.recorder.events.contains("over") == false)
    }
}
