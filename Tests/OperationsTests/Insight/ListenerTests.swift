import OperationsTestKit
import Synchronization
import TestSupport
import Testing

@testable import Operations

/// What a listener of a queue is told, in which order, and what it can put around bodies.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ListenerTests {
    private enum Marker {
        @TaskLocal static var value = ""
    }

    private final class Listener: QueueObserver {
        let heard = Recorder<String>()

        func witness(of operation: Operation, in queue: OperationQueue) -> (any OperationObserver)?
        {
            operation.name.map { Witness($0, self) }
        }
        func listeningEnded() { heard.record("over") }
    }

    private final class Witness: OperationObserver {
        let name: String
        let ears: Listener

        init(_ name: String, _ listener: Listener) {
            self.name = name
            ears = listener
        }

        private func hear(_ event: String) { ears.heard.record("\(name) \(event)") }

        var listener: any QueueObserver { ears }
        func operationAdded() { hear("added") }
        func operationStarted(_ operation: Operation, waiting: Duration?) {
            hear(waiting == nil ? "started" : "started after a wait")
        }
        func perform(_ body: () -> Void) { Marker.$value.withValue(name, operation: body) }
        func perform(_ body: @Sendable () async -> Void) async {
            await Marker.$value.withValue(name) { await body() }
        }
        func operationRanOutOfTime(_ operation: Operation, _ error: any Error) {
            hear("ran out of time")
        }
        func operationReturned(_ operation: Operation, _ attempt: OperationAttempt) {
            hear("returned: \(attempt.error.map { "\($0)" } ?? "fine")")
        }
        func operationEnded(_ operation: Operation, _ end: OperationEnd) {
            let why = end.error.map { ", \($0)" } ?? end.reason.map { ", \($0)" } ?? ""
            hear("\(end.outcome)\(why)\(end.running == nil ? ", never ran" : "")")
        }
        func listeningEnded() { hear("over") }
    }

    private struct Broken: Error, CustomStringConvertible {
        var description: String { "broken" }
    }

    @Test func aListenerIsToldOfEachOperation() async {
        let listener = Listener()
        let queue = serialQueue()
        let listening = queue.listen(listener)
        for (name, operation) in [("block", BlockOperation {}), ("other", Operation())] {
            operation.name = name
            await queue.addOperations([operation], waitUntilFinished: true)
            await queue.drain()
        }
        queue.isSuspended = true
        let cancelled = queue.add("cancelled") {}
        cancelled.cancel(because: "nobody wants it")
        await queue.drain()
        listening.end()
        queue.isSuspended = false
        await queue.addOperations([BlockOperation {}], waitUntilFinished: true)
        _ = try? await queue.add("later") {}.value
        #expect(
            listener.heard.events == [
                "block added", "block started after a wait", "block finished",
                "other added", "other started after a wait", "other finished",
                "cancelled added", "cancelled cancelled, nobody wants it, never ran",
                "over",
            ])
    }

    @Test func attemptsAreTold() async {
        let listener = Listener()
        let queue = OperationQueue()
        _ = queue.listen(listener)
        let attempts = Tally()
        let operation = queue.add("flaky", .retry(3, backoff: .constant(.milliseconds(1)))) {
            if attempts.increment() < 3 { throw Broken() }
        }
        await operation.finished()
        await queue.drain()
        #expect(
            listener.heard.events == [
                "flaky added", "flaky started after a wait", "flaky returned: broken",
                "flaky started after a wait", "flaky returned: broken",
                "flaky started after a wait", "flaky finished",
            ])
    }

    @Test func anExpiryIsToldBeforeTheEnd() async {
        let (listener, clock) = (Listener(), ManualClock())
        let queue = OperationQueue(clock)
        _ = queue.listen(listener)
        let begun = Signal()
        let slow = queue.add("slow", .timeout(.milliseconds(5))) {
            begun.send()
            try await untilCancelled()
        }
        #expect(await begun.arrives())
        await clock.advance(by: .milliseconds(5), whenSleepers: 1)
        await slow.finished()
        #expect(slow.error is OperationTimeout)
        await queue.drain()
        let told = listener.heard.events
        #expect(told.dropLast().last == "slow ran out of time")
        #expect(told.last == "slow failed, 'slow' took longer than 5 ms")
    }

    /// Every kind of body, on every way to it.
    @Test(arguments: [false, true])
    func aWitnessIsAroundEachBody(isScope: Bool) async throws {
        final class Subclass: Operation, @unchecked Sendable {
            let seen: Recorder<String>
            init(_ seen: Recorder<String>) { self.seen = seen }
            override func main() { seen.record("\(name ?? "") \(Marker.value)") }
        }
        let seen = Recorder<String>()
        let listener = Listener()
        let add: @Sendable (OperationQueue) -> Void = { queue in
            _ = queue.listen(listener)
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
            // Two threads have to take part.
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
            // Whom nobody witnesses has what is in force anyway.
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

    @Test func aNewListenerPutsTheOldOneOutOfItsPlace() async {
        let (first, second) = (Listener(), Listener())
        let queue = suspendedQueue()
        let listening = queue.listen(first)
        queue.add("early") {}
        _ = queue.listen(second)
        // It is not the one that listens any more.
        listening.end()
        queue.add("late") {}
        queue.isSuspended = false
        await queue.drain()
        #expect(first.heard.events.prefix(3) == ["early added", "over", "early over"])
        #expect(
            second.heard.events == ["late added", "late started after a wait", "late finished"])
    }

    @Test func neitherListenerNorOperationIsKept() async {
        weak var listener: Listener?
        weak var operation: Operation?
        weak var queue: OperationQueue?
        let listening: QueueObservation
        do {
            let ears = Listener()
            let own = OperationQueue()
            listening = own.listen(ears)
            let added = own.add("kept by nobody") {}
            (listener, operation, queue) = (ears, added, own)
            await added.finished()
            await own.drain()
        }
        while operation != nil || queue != nil { await Task.yield() }
        #expect(listener != nil)
        // The queue is gone: there is nothing to end.
        listening.end()
        #expect(listener?.heard.events.contains("over") == false)
    }
}
