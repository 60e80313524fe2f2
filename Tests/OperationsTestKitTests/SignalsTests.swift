import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

/// Gates and recorders, on queues of workers.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct SignalsTests {
    @Test func gateReleasesTasksAndThreads() async {
        let queue = OperationQueue()
        let gate = TestGate()
        let events = TestRecorder<String>()
        queue.add {
            await gate.wait()
            events.record("task")
        }
        queue.addOperation {
            gate.wait()
            events.record("thread")
        }
        queue.addOperation { events.record("other") }
        #expect(await events.wait(for: 1) == ["other"])
        #expect(!gate.isOpen)
        gate.open()
        gate.open()
        await queue.waitUntilAllOperationsAreFinished()
        #expect(Set(events.events) == ["other", "task", "thread"])
        #expect(gate.isOpen)
        #expect(await gate.wait())
    }

    @Test func workersBlockedAtGateAreCompensated() async {
        let queue = OperationQueue()
        let gate = TestGate()
        for _ in 0..<64 { queue.addOperation { gate.wait() } }
        queue.addOperation { gate.open() }
        await queue.waitUntilAllOperationsAreFinished()
    }

    @Test func cancelledTaskStopsWaiting() async {
        let gate = TestGate()
        let events = TestRecorder<Int>()
        let before = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return (await gate.wait(), await events.wait(for: 1))
        }
        #expect(await before.value == (false, []))
        let started = TestGate()
        let during = Task {
            started.open()
            return (await gate.wait(), await events.wait(for: 1))
        }
        await started.wait()
        during.cancel()
        #expect(await during.value == (false, []))
    }

    @Test func recorderKeepsOrder() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let events = TestRecorder<Int>()
        for number in 0..<100 { queue.addOperation { events.record(number) } }
        #expect(await events.wait(for: 100) == Array(0..<100))
        #expect(await events.wait(for: 3).count == 100)
    }
}
