import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// Which changes observers receive, as with key-value observing on Apple's platforms.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct AnnouncementTests {
    private final class Log: Sendable {
        private let lines = TestRecorder<String>()
        private let tokens = Locked<[KeyValueObservation]>([])

        init(_ operation: Operation) {
            let paths: [(String, KeyPath<Operation, Bool>)] = [
                ("cancelled", \.isCancelled), ("ready", \.isReady), ("executing", \.isExecuting),
                ("finished", \.isFinished),
            ]
            for (name, path) in paths {
                let token = operation.observe(path, options: [.old, .new]) { [lines] _, change in
                    lines.record(
                        "\(name) \(change.oldValue ?? false)>\(change.newValue ?? false)")
                }
                tokens.withLock { $0.append(token) }
            }
        }

        var events: [String] { lines.events }
    }

    @Test("M1: cancel() before the start also announces isReady")
    func cancelBeforeStartAnnouncesIsReady() {
        let (ready, unready) = (Operation(), Operation())
        unready.addDependency(Operation())
        let logs = [Log(ready), Log(unready)]
        for operation in [ready, unready] {
            operation.cancel()
            operation.cancel()
        }
        #expect(logs[0].events == ["cancelled false>true", "ready true>true"])
        #expect(logs[1].events == ["cancelled false>true", "ready false>true"])
    }

    @Test("M1: cancel() of an executing operation announces only isCancelled")
    func cancelDuringExecutionAnnouncesOnlyIsCancelled() async {
        let (began, proceed) = (Signal(), Signal())
        let operation = BlockOperation {
            began.send()
            proceed.wait()
        }
        let log = Log(operation)
        OperationQueue().addOperation(operation)
        #expect(await began.arrives())
        operation.cancel()
        proceed.send()
        #expect(await comesTrue { log.events.count == 4 })
        #expect(
            log.events == [
                "executing false>true", "cancelled false>true", "executing true>false",
                "finished false>true",
            ])
    }

    /// A subclass may announce the two keys in either order.
    @Test("M1: an end that a subclass announces is reported once", arguments: [true, false])
    func announcedEndIsReportedOnce(announcesFinishedFirst: Bool) {
        final class Own: Operation, @unchecked Sendable {
            let executing = Atomic(false)
            let finished = Atomic(false)
            override var isExecuting: Bool { executing.load(ordering: .acquiring) }
            override var isFinished: Bool { finished.load(ordering: .acquiring) }
        }
        let operation = Own()
        let log = Log(operation)
        operation.executing.store(true, ordering: .releasing)
        operation.didChangeValue(forKey: "isExecuting")
        operation.executing.store(false, ordering: .releasing)
        operation.finished.store(true, ordering: .releasing)
        let keys = ["isExecuting", "isFinished"]
        for key in announcesFinishedFirst ? keys.reversed() : keys {
            operation.didChangeValue(forKey: key)
        }
        let life = ["executing false>true", "executing true>false", "finished false>true"]
        #expect(log.events == life)
        // A later announcement is reported again.
        operation.didChangeValue(forKey: "isFinished")
        #expect(log.events == life + ["finished true>true"])
    }

    /// Keeps its state in a property of its own, and announces only that property.
    private class Stated: Operation, @unchecked Sendable {
        let stage = Atomic(0)
        override var isReady: Bool { super.isReady && stage.load(ordering: .acquiring) == 1 }
        override var isExecuting: Bool { stage.load(ordering: .acquiring) == 2 }
        override var isFinished: Bool { stage.load(ordering: .acquiring) == 3 }
        func change(to stage: Int) {
            self.stage.store(stage, ordering: .releasing)
            didChangeValue(forKey: "state")
        }
    }

    @Test("M1: announcing a key of the subclass announces all four states, changed or not")
    func subclassKeyAnnouncesAllStates() {
        let operation = Stated()
        let log = Log(operation)
        var expected: [String] = []
        func announced(_ values: String...) {
            expected += zip(["cancelled", "ready", "executing", "finished"], values).map {
                "\($0) \($1)"
            }
            #expect(log.events == expected)
        }
        operation.didChangeValue(forKey: "state")
        announced("false>false", "false>false", "false>false", "false>false")
        operation.change(to: 1)
        announced("false>false", "false>true", "false>false", "false>false")
        operation.change(to: 2)
        announced("false>false", "true>false", "false>true", "false>false")
        operation.didChangeValue(forKey: "progress")
        announced("false>false", "false>false", "true>true", "false>false")
    }

    @Test("M1: an end that a key of the subclass announces is reported once")
    func endAnnouncedBySubclassKeyIsReportedOnce() {
        let operation = Stated()
        let log = Log(operation)
        operation.change(to: 2)
        let before = log.events.count
        operation.change(to: 3)
        #expect(
            Array(log.events.dropFirst(before)) == [
                "executing true>false", "finished false>true", "cancelled false>false",
                "ready false>false",
            ])
    }

    /// An observer of `isReady` often begins what makes the operation ready.
    @Test("M1: an observer of isReady may make the operation ready, although it was not before")
    func observerOfUnchangedReadinessMayMakeOperationReady() async {
        let (operation, queue) = (Stated(), OperationQueue())
        let isDue = Atomic(false)
        let observation = operation.observe(\.isReady) { operation, _ in
            guard isDue.exchange(false, ordering: .acquiringAndReleasing) else { return }
            operation.change(to: 1)
        }
        operation.completionBlock = { withExtendedLifetime(observation) {} }
        queue.addOperation(operation)
        isDue.store(true, ordering: .releasing)
        operation.didChangeValue(forKey: "state")
        let isStillDue = isDue.load(ordering: .acquiring)
        #expect(!isStillDue)
        operation.change(to: 3)
        await queue.drain()
    }

    @Test("M1: an isReady override does not hide the end of the last dependency")
    func overrideDoesNotHideEndOfLastDependency() {
        final class Closed: Operation, @unchecked Sendable {
            override var isReady: Bool { false }
        }
        let (operation, dependency) = (Closed(), Operation())
        operation.addDependency(dependency)
        let log = Log(operation)
        dependency.start()
        #expect(log.events == ["ready false>false"])
    }

    @Test("M1: the sequence of states contains no state twice in a row")
    func statesAreNotRepeated() async {
        let operation = DispatchedOperation {}
        var states: [OperationState] = []
        let queue = suspendedQueue()
        queue.addOperation(operation)
        for await state in operation.states {
            states.append(state)
            if state == .ready {
                operation.didChangeValue(forKey: "isReady")
                operation.didChangeValue(forKey: "state")
                queue.isSuspended = false
            }
        }
        #expect(states == [.ready, .executing, .finished(isCancelled: false)])
    }
}
