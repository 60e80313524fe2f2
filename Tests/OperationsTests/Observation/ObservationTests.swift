import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// Key-value observing of single operations.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ObservationTests {
    /// The change that a handler received, as text.
    private static func text<Value>(_ change: KeyValueObservedChange<Value>) -> String {
        func part(_ value: Value?) -> String { value.map { "\($0)" } ?? "-" }
        return "\(part(change.oldValue))>\(part(change.newValue))"
    }

    private static func follow<Value: Sendable>(
        _ keyPath: KeyPath<Operation, Value>, of operation: Operation, in log: TestRecorder<String>,
        options: KeyValueObservingOptions = [.old, .new], name: String = ""
    ) -> KeyValueObservation {
        operation.observe(keyPath, options: options) { log.record(name + text($1)) }
    }

    // MARK: Key paths

    @Test func settablePropertiesReportOldAndNewValues() {
        let operation = BlockOperation {}
        let other = Operation()
        let log = TestRecorder<String>()
        let observations = [
            Self.follow(\.name, of: operation, in: log),
            Self.follow(\.queuePriority, of: operation, in: log),
            Self.follow(\.qualityOfService, of: operation, in: log),
            Self.follow(\.threadPriority, of: operation, in: log),
            operation.observe(\.dependencies, options: [.old, .new]) { _, change in
                log.record("\(change.oldValue?.count ?? -1)>\(change.newValue?.count ?? -1)")
            },
            operation.observe(\.completionBlock, options: [.old, .new]) { _, change in
                let (old, new) = (change.oldValue ?? nil, change.newValue ?? nil)
                log.record("block \(old != nil)>\(new != nil)")
            },
        ]
        operation.name = "a"
        operation.name = "a"
        operation.queuePriority = .high
        operation.qualityOfService = .utility
        operation.threadPriority = 7
        operation.addDependency(other)
        operation.addDependency(other)
        operation.removeDependency(other)
        operation.completionBlock = {}
        operation.completionBlock = nil
        #expect(
            log.events == [
                "nil>Optional(\"a\")", "normal>high", "default>utility", "0.5>1.0", "0>1", "1>0",
                "block false>true", "block true>false",
            ])
        withExtendedLifetime(observations) {}
    }

    @Test func lifeCycleIsReportedInOrder() async {
        let log = TestRecorder<String>()
        let first = BlockOperation {}
        let operation = BlockOperation { log.record("main") }
        operation.addDependency(first)
        let observations = [
            Self.follow(\.isReady, of: operation, in: log, name: "ready "),
            Self.follow(\.isExecuting, of: operation, in: log, name: "executing "),
            Self.follow(\.isFinished, of: operation, in: log, name: "finished "),
            Self.follow(\.isCancelled, of: operation, in: log, name: "cancelled "),
        ]
        let queue = OperationQueue()
        await queue.addOperations([operation, first], waitUntilFinished: true)
        #expect(await comesTrue { log.events.count == 5 })
        operation.cancel()
        for observation in observations { observation.invalidate() }
        // The body does not wait for a thread that may still be reporting isReady.
        #expect(
            log.events.filter { $0 != "main" } == [
                "ready false>true", "executing false>true", "executing true>false",
                "finished false>true",
            ])
        #expect(log.events.suffix(2) == ["executing true>false", "finished false>true"])
    }

    /// The order is that of Apple's systems.
    @Test func isReadyIsReportedBeforeDependencies() {
        let log = TestRecorder<String>()
        let (operation, dependency) = (Operation(), Operation())
        let observations = [
            operation.observe(\.isReady) { _, _ in log.record("isReady") },
            operation.observe(\.dependencies) { _, _ in log.record("dependencies") },
        ]
        operation.addDependency(dependency)
        operation.removeDependency(dependency)
        #expect(log.events == ["isReady", "dependencies", "isReady", "dependencies"])
        withExtendedLifetime(observations) {}
    }

    @Test func cancellationIsReportedBeforeEnd() {
        let log = TestRecorder<String>()
        let operation = Operation()
        operation.addDependency(Operation())
        let observations = [
            Self.follow(\.isFinished, of: operation, in: log, name: "finished "),
            Self.follow(\.isReady, of: operation, in: log, name: "ready "),
            Self.follow(\.isCancelled, of: operation, in: log, name: "cancelled "),
        ]
        operation.cancel()
        operation.cancel()
        operation.start()
        #expect(
            log.events == ["cancelled false>true", "ready false>true", "finished false>true"])
        withExtendedLifetime(observations) {}
    }

    @Test func readinessOfDependentInNoQueueIsReported() async {
        let log = TestRecorder<String>()
        let dependency = BlockOperation {}
        let dependent = Operation()
        dependent.addDependency(dependency)
        let observation = Self.follow(\.isReady, of: dependent, in: log)
        let late = Operation()
        await OperationQueue().addOperations([dependency], waitUntilFinished: true)
        // The dependency notifies its dependents after it has woken its waiters, so the change of
        // the dependent may come after the wait, and on the dependency's thread.
        #expect(await comesTrue { log.events.count == 1 })
        dependent.addDependency(late)
        dependent.removeDependency(late)
        #expect(await comesTrue { log.events.count == 3 })
        #expect(log.events == ["false>true", "true>false", "false>true"])
        withExtendedLifetime(observation) {}
    }

    @Test func endIsReportedAfterQueueRemovalAndBeforeDependentsStart() async {
        let log = TestRecorder<String>()
        let queue = OperationQueue()
        let done = Signal()
        for usesFastPath in [true, false] {
            let operation = usesFastPath ? BlockOperation {} : TypedOperation<Void> {}
            let dependent = BlockOperation { log.record("dependent") }
            dependent.addDependency(operation)
            operation.completionBlock = { done.send() }
            let observation = operation.observe(\.isFinished) { operation, _ in
                log.record("\(operation.isFinished) \(queue.operations.contains(operation))")
            }
            await queue.addOperations([operation, dependent], waitUntilFinished: true)
            #expect(done.wait())
            observation.invalidate()
        }
        #expect(log.events == ["true false", "dependent", "true false", "dependent"])
    }

    @Test func releaseOfCompletionBlockIsReported() {
        let log = TestRecorder<Bool>()
        let operation = Operation()
        operation.completionBlock = {}
        let observation = operation.observe(\.completionBlock, options: .new) { _, change in
            log.record((change.newValue ?? nil) == nil)
        }
        operation.start()
        #expect(log.events == [true])
        withExtendedLifetime(observation) {}
    }

    // MARK: Options

    @Test func optionsSelectReportedValues() {
        let operation = Operation()
        let log = TestRecorder<String>()
        let observations = [
            Self.follow(\.name, of: operation, in: log, options: [], name: "none "),
            Self.follow(\.name, of: operation, in: log, options: .new, name: "new "),
            Self.follow(\.name, of: operation, in: log, options: .old, name: "old "),
            Self.follow(
                \.name, of: operation, in: log, options: [.initial, .new, .old], name: "all "),
        ]
        operation.name = "x"
        #expect(
            log.events == [
                "all ->nil", "none ->-", "new ->Optional(\"x\")", "old nil>-",
                "all nil>Optional(\"x\")",
            ])
        withExtendedLifetime(observations) {}
    }

    @Test func keyPathOfSubclassIsSupported() {
        class Named: Operation, @unchecked Sendable {
            override var name: String? {
                get { super.name.map { "<\($0)>" } }
                set { super.name = newValue }
            }
        }
        final class Last: Named, @unchecked Sendable {}
        let log = TestRecorder<String>()
        let operation = Last()
        let a = operation.observe(\Last.name, options: .new) { (operation: Last, change) in
            log.record("\(operation.name ?? "") \(Self.text(change))")
        }
        let b = operation.observe(\.name, options: .new) { log.record(Self.text($1)) }
        operation.name = "x"
        #expect(log.events == ["<x> ->Optional(\"<x>\")", "->Optional(\"<x>\")"])
        withExtendedLifetime((a, b)) {}
    }

    @Test func unobservablePropertyTrapsAndListsObservableOnes() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let operation = Operation()
            operation.name = "filter"
            _ = operation.observe(\.description) { _, _ in }
        }
        let output = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            output.contains("'filter' has no such property to observe: use one of \\.isCancelled"))
    }

    // MARK: Subclasses with their own state

    @Test func stateKeepingSubclassIsObservable() async {
        let log = TestRecorder<String>()
        let operation = DispatchedOperation { log.record("work") }
        let observations = [
            Self.follow(\.isReady, of: operation, in: log, name: "ready "),
            Self.follow(\.isExecuting, of: operation, in: log, name: "executing "),
            Self.follow(\.isFinished, of: operation, in: log, name: "finished "),
        ]
        let queue = OperationQueue()
        queue.addOperation(operation)
        await queue.drain()
        #expect(await comesTrue { log.events.count >= 5 })
        #expect(
            log.events == [
                "ready true>false", "executing false>true", "work", "executing true>false",
                "finished false>true",
            ])
        withExtendedLifetime(observations) {}
    }

    @Test func changesAnnouncedByKeyOrKeyPathAreReported() {
        final class Overriding: Operation, @unchecked Sendable {
            let value = Atomic(false)
            override var isAsynchronous: Bool { value.load(ordering: .acquiring) }
            override var isCancelled: Bool { value.load(ordering: .acquiring) }
            override var isReady: Bool { super.isReady && value.load(ordering: .acquiring) }
            func set(_ value: Bool) { self.value.store(value, ordering: .releasing) }
        }
        let log = TestRecorder<String>()
        let operation = Overriding()
        let observations = [
            Self.follow(\.isAsynchronous, of: operation, in: log, name: "asynchronous "),
            Self.follow(\.isConcurrent, of: operation, in: log, name: "concurrent "),
            Self.follow(\.isCancelled, of: operation, in: log, name: "cancelled "),
            Self.follow(\.isReady, of: operation, in: log, name: "ready "),
        ]
        operation.set(true)
        operation.didChangeValue(for: \.isAsynchronous)
        operation.didChangeValue(for: \.isAsynchronous)
        operation.didChangeValue(for: \.isCancelled)
        operation.didChangeValue(forKey: "ready")
        operation.didChangeValue(forKey: "no such key")
        operation.set(false)
        operation.didChangeValue(forKey: "cancelled")
        operation.didChangeValue(for: \.isReady)
        let dependency = Operation()
        operation.addDependency(dependency)
        dependency.start()
        #expect(
            log.events == [
                "asynchronous false>true", "concurrent false>true",
                // Each announcement is reported, even if the value is the same.
                "asynchronous true>true", "concurrent true>true", "cancelled false>true",
                "ready false>true",
                // A key that the class does not know announces these two, among others.
                "cancelled true>true", "ready true>true",
                "cancelled true>false", "ready true>false",
                // Changes of the base class that the override hides are reported, too.
                "ready false>false", "ready false>false",
            ])
        withExtendedLifetime(observations) {}
    }

    // MARK: Re-entrancy

    @Test func handlersMayChangeOperation() {
        let log = TestRecorder<String>()
        let kept = TestRecorder<KeyValueObservation>()
        let operation = Operation()
        let outer = operation.observe(\.name, options: .new) { operation, change in
            log.record("outer \(Self.text(change))")
            guard kept.events.isEmpty else { return }
            kept.record(
                operation.observe(\.name, options: [.initial, .new]) {
                    log.record("inner \(Self.text($1))")
                })
            operation.addDependency(Operation())
            operation.cancel()
            operation.name = "b"
            log.record("end")
        }
        operation.name = "a"
        #expect(operation.isCancelled)
        #expect(
            log.events == [
                "outer ->Optional(\"a\")", "inner ->Optional(\"a\")", "end",
                "outer ->Optional(\"b\")",
                "inner ->Optional(\"b\")",
            ])
        for observation in kept.events { observation.invalidate() }
        withExtendedLifetime(outer) {}
    }

    @Test func invalidatingInsideHandlerEndsCalls() {
        let calls = Tally()
        let kept = Locked<KeyValueObservation?>(nil)
        let operation = Operation()
        let observation = operation.observe(\.name) { _, _ in
            calls.increment()
            kept.withLock { $0 }?.invalidate()
        }
        kept.withLock { $0 = observation }
        operation.name = "a"
        operation.name = "b"
        #expect(calls.value == 1)
        kept.withLock { $0 = nil }
    }

    // MARK: Memory

    @Test func releasingObservationEndsItAndFreesItsCaptures() {
        final class Held: Sendable {}
        weak var held: Held?
        weak var freed: Operation?
        let calls = Tally()
        do {
            let operation = Operation()
            let object = Held()
            (held, freed) = (object, operation)
            var observation: KeyValueObservation? = operation.observe(\.name) { _, _ in
                withExtendedLifetime((object, operation)) {}
                calls.increment()
            }
            operation.name = "a"
            #expect(observation != nil)
            observation = nil
            operation.name = "b"
            #expect(!operation.status.has(.observed))
        }
        #expect(calls.value == 1)
        #expect(held == nil)
        #expect(freed == nil)
    }

    /// The observer waits for a dependent that would follow in the same claim.
    @Test func readinessObserverMayWaitForAnotherOperation() async {
        let (queue, seen) = (suspendedQueue(), TestRecorder<Bool>())
        let (first, follower, outside) = (BlockOperation {}, BlockOperation {}, BlockOperation {})
        follower.addDependency(first)
        outside.addDependency(first)
        let observation = outside.observe(\.isReady) { _, _ in
            seen.record(follower.waitUntilFinished(within: .seconds(60)))
        }
        await queue.addOperations([first, follower], waitUntilFinished: false)
        queue.isSuspended = false
        await queue.drain()
        #expect(await comesTrue { seen.events == [true] })
        observation.invalidate()
        outside.start()
    }

    @Test func observationDoesNotRetainOperation() {
        var operation: Operation? = Operation()
        weak let freed = operation
        let observation = operation?.observe(\.isFinished) { _, _ in }
        operation = nil
        #expect(freed == nil)
        withExtendedLifetime(observation) {}
    }

    @Test func observedDependentsMayBeFreedAsDependencyFinishes() async {
        for _ in 0..<500 {
            let dependency = BlockOperation {}
            let queue = OperationQueue()
            let dependents = (0..<4).map { _ in
                let dependent = BlockOperation {}
                dependent.addDependency(dependency)
                return dependent
            }
            let box = Locked((dependents, dependents.map { $0.observe(\.isReady) { _, _ in } }))
            queue.addOperation(dependency)
            // Releases the dependents here while the dependency finishes.
            let last = box.withLock { content in
                defer { content = ([], []) }
                return content.1
            }
            withExtendedLifetime(last) {}
            await queue.drain()
        }
    }
}
