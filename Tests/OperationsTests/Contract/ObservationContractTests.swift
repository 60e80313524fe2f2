import Operations
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

/// Observing properties: rows M1, Q21 and B20, decision 5, and the exact changes of rows O6 and O9.
///
/// Observers are notified before the completion block runs, so a test may check them once the
/// completion block has been called.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ObservationContractTests {
    /// Runs an operation in a queue and returns when its completion block has been called.
    private func run(_ operation: Operation, in queue: OperationQueue = OperationQueue()) async {
        await withCheckedContinuation { continuation in
            operation.completionBlock = { continuation.resume() }
            queue.addOperation(operation)
        }
    }

    private func text<Value>(_ value: Value?) -> String { value.map { "\($0)" } ?? "-" }

    // MARK: Options and tokens

    @Test("M1: isFinished changes once, from false to true")
    func isFinishedChangesOnce() async {
        for operation in [
            Operation(), BlockOperation {}, TypedOperation<Void> {}, DispatchedOperation {},
        ] {
            let changes = TestRecorder<String>()
            let token = operation.observe(\.isFinished, options: [.old, .new]) {
                operation, change in
                changes.record("\(change.oldValue == false) \(change.newValue == true)")
                changes.record("\(operation.isFinished)")
            }
            await run(operation)
            #expect(await comesTrue { changes.events.count >= 2 })
            #expect(changes.events == ["true true", "true"])
            token.invalidate()
        }
    }

    @Test("M1: a change has no values without options; each option adds its own value")
    func optionsSelectTheReportedValues() {
        let (none, old, new) = (
            TestRecorder<String>(), TestRecorder<String>(), TestRecorder<String>()
        )
        let operation = Operation()
        let tokens = [
            operation.observe(\.isCancelled) { _, change in
                none.record(text(change.oldValue) + text(change.newValue))
            },
            operation.observe(\.isCancelled, options: [.old]) { _, change in
                old.record(text(change.oldValue) + text(change.newValue))
            },
            operation.observe(\.isCancelled, options: [.new]) { _, change in
                new.record(text(change.oldValue) + text(change.newValue))
            },
        ]
        operation.cancel()
        #expect(none.events == ["--"])
        #expect(old.events == ["false-"])
        #expect(new.events == ["-true"])
        for token in tokens { token.invalidate() }
    }

    @Test("M1: with .initial the handler gets the present value before observe returns")
    func initialOptionNotifiesBeforeObserveReturns() {
        let operation = Operation()
        operation.queuePriority = .high
        let changes = TestRecorder<String>()
        let token = operation.observe(\.queuePriority, options: [.initial, .old, .new]) {
            _, change in
            changes.record("\(text(change.oldValue)) \(text(change.newValue))")
        }
        #expect(changes.events == ["- high"])
        operation.queuePriority = .low
        #expect(changes.events == ["- high", "high low"])
        token.invalidate()
    }

    @Test("M1: setting a property is a change of the kind setting")
    func settingAPropertyIsAChangeOfKindSetting() {
        let operation = Operation()
        let kinds = TestRecorder<Bool>()
        let token = operation.observe(\.name, options: [.new]) { _, change in
            kinds.record(change.kind == .setting)
        }
        operation.name = "filter"
        #expect(kinds.events == [true])
        token.invalidate()
    }

    @Test("M1: an observer is not notified after invalidate(), or after its token is released")
    func invalidatingOrReleasingTheTokenEndsObservation() {
        let operation = Operation()
        let changes = Tally()
        let token = operation.observe(\.queuePriority) { _, _ in changes.increment() }
        do {
            let dropped = operation.observe(\.queuePriority) { _, _ in changes.increment() }
            operation.queuePriority = .high
            withExtendedLifetime(dropped) {}
        }
        #expect(changes.value == 2)
        operation.queuePriority = .low
        #expect(changes.value == 3)
        token.invalidate()
        token.invalidate()
        operation.queuePriority = .normal
        #expect(changes.value == 3)
    }

    @Test("M1: an observer may end its own observation, and begin another, when it is notified")
    func observerMayEndAndBeginObservationsWhenNotified() {
        let operation = Operation()
        let changes = TestRecorder<String>()
        let tokens = TestRecorder<KeyValueObservation>()
        tokens.record(
            operation.observe(\.queuePriority) { operation, _ in
                changes.record("first")
                for token in tokens.events { token.invalidate() }
                tokens.record(
                    operation.observe(\.queuePriority) { _, _ in changes.record("second") })
            })
        operation.queuePriority = .high
        operation.queuePriority = .low
        #expect(changes.events == ["first", "second"])
        for token in tokens.events { token.invalidate() }
    }

    @Test("M1: an observation that has ended retains neither the operation nor the closure")
    func endedObservationRetainsNothing() async {
        let releases = Tally()
        do {
            let token = Token(releases)
            let operation = Operation()
            let observation = operation.observe(\.isFinished) { _, _ in
                withExtendedLifetime(token) {}
            }
            await run(operation)
            observation.invalidate()
        }
        #expect(await comesTrue { releases.value == 1 })
    }

    @Test("M1: each of several observers is notified of a change")
    func eachOfSeveralObserversIsNotified() async {
        let operation = Operation()
        let changes = TestRecorder<Int>()
        let tokens = (0..<5).map { number in
            operation.observe(\.isFinished) { _, _ in changes.record(number) }
        }
        await run(operation)
        #expect(changes.events.sorted() == [0, 1, 2, 3, 4])
        for token in tokens { token.invalidate() }
    }

    // MARK: Key paths of an operation

    @Test("M1: observers see isExecuting change to true and back before isFinished changes")
    func isExecutingChangesTwiceBeforeIsFinished() async {
        let operation = BlockOperation {}
        let changes = TestRecorder<String>()
        let tokens = [
            operation.observe(\.isExecuting, options: [.new]) { _, change in
                changes.record("executing \(change.newValue == true)")
            },
            operation.observe(\.isFinished, options: [.new]) { _, change in
                changes.record("finished \(change.newValue == true)")
            },
        ]
        await run(operation)
        #expect(changes.events == ["executing true", "executing false", "finished true"])
        for token in tokens { token.invalidate() }
    }

    @Test("O6: isExecuting of a cancelled operation never changes")
    func isExecutingOfACancelledOperationNeverChanges() async {
        let operation = BlockOperation {}
        let changes = TestRecorder<String>()
        let tokens = [
            operation.observe(\.isCancelled) { _, _ in changes.record("cancelled") },
            operation.observe(\.isExecuting) { _, _ in changes.record("executing") },
            operation.observe(\.isFinished) { _, _ in changes.record("finished") },
        ]
        operation.cancel()
        operation.cancel()
        await run(operation)
        operation.cancel()
        #expect(changes.events == ["cancelled", "finished"])
        for token in tokens { token.invalidate() }
    }

    @Test(
        "O9, M1: isReady changes when the last dependency finishes or is removed, or on cancelling")
    func isReadyChangesWithDependenciesAndCancellation() {
        let operations = (0..<3).map { _ in Operation() }
        let changes = TestRecorder<Bool?>()
        var tokens: [KeyValueObservation] = []
        let dependencies = (0..<3).map { _ in Operation() }
        for (operation, dependency) in zip(operations, dependencies) {
            tokens.append(
                operation.observe(\.isReady, options: [.new]) { _, change in
                    changes.record(change.newValue)
                })
            operation.addDependency(dependency)
        }
        #expect(changes.events == [false, false, false])
        dependencies[0].start()
        operations[1].removeDependency(dependencies[1])
        operations[2].cancel()
        #expect(changes.events == [false, false, false, true, true, true])
        for token in tokens { token.invalidate() }
    }

    @Test(
        "M1: observers see each change of dependencies, name, quality of service, completion block")
    func configurationChangesAreObservable() {
        let (operation, dependency) = (Operation(), Operation())
        let changes = TestRecorder<String>()
        let tokens = [
            operation.observe(\.dependencies, options: [.old, .new]) { _, change in
                changes.record(
                    "dependencies \(change.oldValue?.count ?? -1) \(change.newValue?.count ?? -1)")
            },
            operation.observe(\.name, options: [.new]) { _, change in
                changes.record("name \(change.newValue.flatMap { $0 } ?? "-")")
            },
            operation.observe(\.qualityOfService, options: [.old, .new]) { _, change in
                changes.record("service \(change.newValue == .utility)")
            },
            operation.observe(\.completionBlock) { _, _ in changes.record("block") },
        ]
        operation.addDependency(dependency)
        operation.removeDependency(dependency)
        operation.name = "filter"
        operation.qualityOfService = .utility
        operation.completionBlock = {}
        #expect(
            changes.events == [
                "dependencies 0 1", "dependencies 1 0", "name filter", "service true", "block",
            ])
        for token in tokens { token.invalidate() }
    }

    @Test("M1: a property that never changes can be observed; .initial notifies with its value")
    func constantPropertiesAreObservable() {
        let values = TestRecorder<Bool?>()
        let operation = Operation()
        let tokens = [\Operation.isAsynchronous, \.isConcurrent].map { keyPath in
            operation.observe(keyPath, options: [.initial, .new]) { _, change in
                values.record(change.newValue)
            }
        }
        operation.start()
        #expect(values.events == [false, false])
        for token in tokens { token.invalidate() }
    }

    @Test("Decision 5, B20: observers see each change that a subclass announces, once")
    func observersSeeChangesAnnouncedBySubclasses() async {
        let operation = StateKeepingOperation()
        let changes = TestRecorder<String>()
        let tokens = [
            operation.observe(\.isExecuting, options: [.old, .new]) { _, change in
                changes.record("executing \(change.oldValue == true) \(change.newValue == true)")
            },
            operation.observe(\.isFinished, options: [.old, .new]) { _, change in
                changes.record("finished \(change.oldValue == true) \(change.newValue == true)")
            },
        ]
        let queue = OperationQueue()
        queue.addOperation(operation)
        // Wait for the notification: the stage changes before its announcement is complete.
        #expect(await comesTrue { changes.events.count == 1 })
        await withCheckedContinuation { continuation in
            operation.completionBlock = { continuation.resume() }
            operation.stage = .finished
        }
        // Another thread may still be delivering the first notification. It then delivers the
        // others too.
        #expect(await comesTrue { changes.events.count == 3 })
        #expect(Set(changes.events.prefix(1)) == ["executing false true"])
        #expect(
            Set(changes.events) == [
                "executing false true", "executing true false", "finished false true",
            ])
        for token in tokens { token.invalidate() }
    }

    // MARK: Key paths of a queue

    @Test("Q21: operationCount and operations report each change, in order and exactly")
    func queueContentChangesAreReportedInOrder() async {
        let queue = serialQueue()
        let (counts, lists) = (TestRecorder<Int?>(), TestRecorder<Int?>())
        let tokens = [
            queue.observe(\.operationCount, options: [.new]) { _, change in
                counts.record(change.newValue)
            },
            queue.observe(\.operations, options: [.new]) { _, change in
                lists.record(change.newValue?.count)
            },
        ]
        queue.isSuspended = true
        for _ in 0..<3 { queue.addOperation {} }
        #expect(counts.events == [1, 2, 3])
        queue.isSuspended = false
        await queue.drain()
        #expect(await comesTrue { counts.events.count == 6 && lists.events.count == 6 })
        #expect(counts.events == [1, 2, 3, 2, 1, 0])
        #expect(lists.events == [1, 2, 3, 2, 1, 0])
        for token in tokens { token.invalidate() }
    }

    @Test("Q21: counts reported from many threads are exact: each differs by one from the previous")
    func countsReportedFromManyThreadsAreExact() async {
        let queue = OperationQueue()
        let counts = TestRecorder<Int>()
        let token = queue.observe(\.operationCount, options: [.new]) { _, change in
            counts.record(change.newValue ?? -1)
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<250 { queue.addOperation {} } }
            }
        }
        await queue.drain()
        #expect(await comesTrue { counts.events.count == 2_000 })
        let values = [0] + counts.events
        let steps = zip(values.dropFirst(), values).map { $0 - $1 }
        #expect(steps.count { abs($0) != 1 } == 0)
        #expect(values.last == 0)
        token.invalidate()
    }

    @Test("Q21: width, suspension, name and quality of service report each change")
    func queueConfigurationChangesAreObservable() {
        let queue = OperationQueue()
        let changes = TestRecorder<String>()
        let tokens = [
            queue.observe(\.maxConcurrentOperationCount, options: [.old, .new]) { _, change in
                changes.record("width \(change.oldValue ?? 0) \(change.newValue ?? 0)")
            },
            queue.observe(\.isSuspended, options: [.new]) { _, change in
                changes.record("suspended \(change.newValue == true)")
            },
            queue.observe(\.name, options: [.new]) { _, change in
                changes.record("name \(change.newValue.flatMap { $0 } ?? "-")")
            },
            queue.observe(\.qualityOfService, options: [.new]) { _, change in
                changes.record("service \(change.newValue == .utility)")
            },
        ]
        queue.maxConcurrentOperationCount = 3
        queue.isSuspended = true
        queue.isSuspended = false
        queue.name = "Download queue"
        queue.qualityOfService = .utility
        #expect(
            changes.events == [
                "width -1 3", "suspended true", "suspended false", "name Download queue",
                "service true",
            ])
        for token in tokens { token.invalidate() }
    }
}
