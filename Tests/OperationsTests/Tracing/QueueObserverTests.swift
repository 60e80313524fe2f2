import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// The events that queue observers receive, their order, and how operation observers wrap bodies.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct QueueObserverTests {
    private enum Marker {
        @TaskLocal static var value = ""
    }

    /// Records the events of operations that have names.
    private final class RecordingObserver: QueueObserver {
        static var kind: QueueObserverKind { .telemetry }

        let recorder = TestRecorder<String>()

        private func record(_ operation: Operation, _ event: String) {
            guard let name = operation.name else { return }
            recorder.record("\(name) \(event)")
        }

        func receive(_ event: QueueEvent, of operation: Operation, on thread: ThreadContext) {
            switch event {
            case .willBeAdded:
                if let name = operation.name { #expect(operation.accept(Marking(name))) }
                record(operation, "added")
            case .refused: record(operation, "refused")
            case .waited: break
            case .started(let attempt):
                #expect(attempt.start > 0 && attempt.end == 0)
                record(operation, attempt.waiting == nil ? "started" : "started after a wait")
            case .ranOutOfTime: record(operation, "ran out of time")
            case .returned(_, let error, _):
                record(operation, "returned: \(error.map { "\($0)" } ?? "fine")")
            case .ended(let attempt, let outcome):
                let (error, reason) = operation.cause(of: outcome)
                let why = error.map { ", \($0)" } ?? reason.map { ", \($0)" } ?? ""
                record(
                    operation, "\(outcome)\(why)\(attempt.running == nil ? ", never ran" : "")")
            }
        }
    }

    /// Binds the name of its operation around the body.
    private final class Marking: OperationObserver {
        private let name: String

        init(_ name: String) { self.name = name }

        func perform(_ body: () -> Void) { Marker.$value.withValue(name, operation: body) }
        func perform(_ body: @Sendable () async -> Void) async {
            await Marker.$value.withValue(name) { await body() }
        }
    }

    /// Begins to observe the queue.
    private static func observe(_ queue: OperationQueue) -> RecordingObserver {
        let observer = queue.observer { RecordingObserver() }
        queue.beginEvents(for: .telemetry)
        return observer
    }

    private struct Broken: Error, CustomStringConvertible {
        var description: String { "broken" }
    }

    @Test func eventsGoOnIfTheObserverIsInUseAgain() {
        let queue = OperationQueue()
        _ = queue.observer { RecordingObserver() }
        queue.beginEvents(for: .telemetry)
        queue.endEvents(for: .telemetry) { true }
        #expect(queue.isObserved)
        queue.endEvents(for: .telemetry) { false }
        #expect(!queue.isObserved)
    }

    @Test func observerReceivesEventsOfEachOperation() async {
        let queue = serialQueue()
        let observer = Self.observe(queue)
        for (name, operation) in [("block", BlockOperation {}), ("other", Operation())] {
            operation.name = name
            await queue.addOperations([operation], waitUntilFinished: true)
            await queue.drain()
        }
        queue.isSuspended = true
        let cancelled = queue.add("cancelled") {}
        cancelled.cancel(because: "nobody wants it")
        await queue.drain()
        queue.endEvents(for: .telemetry)
        queue.isSuspended = false
        await queue.addOperations([BlockOperation {}], waitUntilFinished: true)
        _ = try? await queue.add("later") {}.value
        #expect(
            observer.recorder.events == [
                "block added", "block started after a wait", "block finished",
                "other added", "other started after a wait", "other finished",
                "cancelled added", "cancelled cancelled, nobody wants it, never ran",
            ])
    }

    @Test func observerReceivesEventsOfEachAttempt() async {
        let queue = OperationQueue()
        let observer = Self.observe(queue)
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
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let observer = Self.observe(queue)
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
            let seen: TestRecorder<String>
            init(_ seen: TestRecorder<String>) { self.seen = seen }
            override func main() { seen.record("\(name ?? "") \(Marker.value)") }
        }
        let seen = TestRecorder<String>()
        let add: @Sendable (OperationQueue) -> Void = { queue in
            _ = Self.observe(queue)
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

    /// Counts ends, as one of several kinds of observers.
    private class Counting: @unchecked Sendable {
        let recorder: TestRecorder<String>
        init(_ recorder: TestRecorder<String>) { self.recorder = recorder }
    }

    private final class Timeline: Counting, QueueObserver, @unchecked Sendable {
        static var kind: QueueObserverKind { .timeline }
        func receive(_ event: QueueEvent, of operation: Operation, on thread: ThreadContext) {
            if case .ended = event { recorder.record("timeline") }
        }
    }

    private final class Statistics: Counting, QueueObserver, @unchecked Sendable {
        static var kind: QueueObserverKind { .statistics }
        func receive(_ event: QueueEvent, of operation: Operation, on thread: ThreadContext) {
            if case .ended = event { recorder.record("statistics") }
        }
    }

    @Test func observersAreCalledInOrderOfTheirKinds() async {
        let queue = serialQueue()
        let ends = TestRecorder<String>()
        _ = queue.observer { Statistics(ends) }
        _ = queue.observer { Timeline(ends) }
        #expect(!queue.isObserved)
        for kind in [QueueObserverKind.statistics, .timeline] { queue.beginEvents(for: kind) }
        for operation in [BlockOperation {}, Operation()] { queue.addOperation(operation) }
        await queue.drain()
        #expect(ends.events == ["timeline", "statistics", "timeline", "statistics"])
        queue.endEvents(for: .timeline)
        queue.addOperation {}
        await queue.drain()
        #expect(ends.events.count == 5 && ends.events.last == "statistics")
    }

    @Test func queueHasOneObserverOfEachKind() {
        let queue = OperationQueue()
        let first = queue.observer { RecordingObserver() }
        #expect(queue.observer { RecordingObserver() } === first)
        #expect(queue.existingObserver(RecordingObserver.self) === first)
        #expect(queue.existingObserver(Timeline.self) == nil)
    }

    @Test func observerLivesAsLongAsItsQueue() async {
        weak var observer: RecordingObserver?
        weak var operation: Operation?
        weak var queue: OperationQueue?
        do {
            let own = OperationQueue()
            observer = Self.observe(own)
            let last = own.add("kept by nobody") {}
            (operation, queue) = (last, own)
            await last.finished()
            await own.drain()
            own.endEvents(for: .telemetry)
            #expect(observer != nil)
        }
        #expect(await comesTrue { operation == nil && queue == nil && observer == nil })
    }
}
