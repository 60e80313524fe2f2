import Dispatch
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// When the library calls an override of `isReady`, and what it does with the result.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ReadinessTests {
    /// Is ready if a closure says so for the number of the call.
    private final class Scripted: Operation, @unchecked Sendable {
        let (calls, ran) = (Tally(), Tally())
        private let isReadyAtCall: @Sendable (Int) -> Bool
        init(_ isReadyAtCall: @escaping @Sendable (Int) -> Bool) {
            self.isReadyAtCall = isReadyAtCall
        }
        override var isReady: Bool { super.isReady && isReadyAtCall(calls.increment()) }
        override func main() { ran.increment() }
    }

    @Test("O26: the first call of isReady that returns true starts the operation")
    func isReadyIsCalledOnceBeforeStart() async {
        let queue = OperationQueue()
        let (once, turns, always) = (
            Scripted { $0 == 1 }, Scripted { $0 % 2 == 1 }, Scripted { _ in true }
        )
        await queue.addOperations([once, turns, always], waitUntilFinished: true)
        for operation in [once, turns, always] {
            #expect(operation.ran.value == 1 && operation.calls.value == 1)
        }
    }

    @Test("O26: isReady is not called again while the operation waits for its turn")
    func isReadyIsCalledOnceHoweverLongTheWait() async {
        let queue = suspendedQueue()
        let operations = (0..<50).map { _ in Scripted { $0 == 1 } }
        await queue.addOperations(operations, waitUntilFinished: false)
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = false
        await queue.drain()
        #expect(operations.allSatisfy { $0.calls.value == 1 })
    }

    /// An override of `isReady` may begin what prepares the operation to be added to a queue.
    @Test("O26: isReady of an operation in no queue is read when its last dependency goes")
    func isReadyIsReadInNoQueue() async {
        let operations = (0..<4).map { _ in Scripted { _ in true } }
        let dependencies = (Operation(), BlockOperation {}, Operation(), Operation())
        operations[0].addDependency(dependencies.0)
        operations[1].addDependency(dependencies.1)
        operations[2].addDependency(dependencies.2)
        for operation in operations[0...2] { operation.addDependency(dependencies.3) }
        dependencies.0.start()
        await OperationQueue().addOperations([dependencies.1], waitUntilFinished: true)
        dependencies.2.start()
        #expect(operations.map(\.calls.value) == [0, 0, 0, 0])
        operations[0].removeDependency(dependencies.3)
        #expect(operations.map(\.calls.value) == [1, 0, 0, 0])
        dependencies.3.start()
        // A wait may return before a worker has released the dependents.
        #expect(await comesTrue { operations.map(\.calls.value) == [1, 1, 1, 0] })
        #expect(operations.allSatisfy { $0.ran.value == 0 })
    }

    @Test("O26: such a read may add the operation to a queue")
    func isReadyReadInNoQueueMayAddOperation() async {
        final class Adding: Operation, @unchecked Sendable {
            let queue = OperationQueue()
            let isAdded = Atomic(false)
            override var isReady: Bool {
                guard super.isReady else { return false }
                if !isAdded.exchange(true, ordering: .acquiringAndReleasing) {
                    queue.addOperation(self)
                }
                return true
            }
        }
        for usesQueue in [true, false] {
            let (operation, dependency) = (Adding(), Operation())
            operation.addDependency(dependency)
            if usesQueue { OperationQueue().addOperation(dependency) } else { dependency.start() }
            await operation.finished()
        }
    }

    @Test("O26: an operation may go away while its last dependency ends")
    func operationMayGoAwayWhileLastDependencyEnds() async {
        final class Leaving: Operation, @unchecked Sendable {
            let left: Tally
            init(_ left: Tally) { self.left = left }
            deinit { left.increment() }
            override var isReady: Bool { super.isReady }
        }
        let (left, queue) = (Tally(), OperationQueue())
        let count = max(200, 4_000 / slowness)
        for _ in 0..<count {
            let dependency = BlockOperation {}
            var operation: Leaving? = Leaving(left)
            operation?.addDependency(dependency)
            queue.addOperation(dependency)
            operation = nil
        }
        await queue.drain()
        #expect(await comesTrue { left.value == count })
    }

    /// Overrides `isReady` without calling `super`.
    private final class WithoutSuper: Operation, @unchecked Sendable {
        let value = Atomic(true)
        let ran = Tally()
        override var isReady: Bool { value.load(ordering: .acquiring) }
        override func main() { ran.increment() }
        func change(to newValue: Bool) {
            value.store(newValue, ordering: .releasing)
            didChangeValue(forKey: "isReady")
        }
    }

    @Test("O32: an override that does not call super does not wait for dependencies")
    func overrideWithoutSuperIgnoresDependencies() async {
        let queue = OperationQueue()
        let (now, later) = (WithoutSuper(), WithoutSuper())
        let dependency = Operation()
        for operation in [now, later] { operation.addDependency(dependency) }
        later.value.store(false, ordering: .releasing)
        await queue.addOperations([now, later], waitUntilFinished: false)
        await now.finished()
        #expect(!later.isFinished)
        later.change(to: true)
        await queue.drain()
        #expect(now.ran.value == 1 && later.ran.value == 1 && !dependency.isFinished)
        // The end of the dependency affects neither operation.
        dependency.start()
    }

    @Test("O13: a dependency that is added later holds back only an override that calls super")
    func overrideWithoutSuperIgnoresLateDependency() async {
        let queue = suspendedQueue()
        let (ignoring, waiting) = (WithoutSuper(), Scripted { _ in true })
        await queue.addOperations([ignoring, waiting], waitUntilFinished: false)
        let dependency = Operation()
        for operation in [ignoring, waiting] as [Operation] { operation.addDependency(dependency) }
        queue.isSuspended = false
        await ignoring.finished()
        #expect(waiting.ran.value == 0)
        dependency.start()
        await queue.drain()
        #expect(ignoring.ran.value == 1 && waiting.ran.value == 1)
    }

    @Test("O32: an unannounced change takes effect at the queue's next event")
    func unannouncedChangeTakesEffectAtNextEvent() async {
        let queue = OperationQueue()
        let isReady = Atomic(false)
        let operation = Scripted { _ in isReady.load(ordering: .acquiring) }
        queue.addOperation(operation)
        #expect(await comesTrue { operation.calls.value == 1 })
        isReady.store(true, ordering: .releasing)
        queue.addOperation {}
        await queue.drain()
        #expect(operation.ran.value == 1)
    }

    @Test("O32: resuming the queue and changing its width are such events", arguments: [0, 1])
    func unannouncedChangeTakesEffectWithQueueSettings(setting: Int) async {
        let queue = OperationQueue()
        let isReady = Atomic(false)
        let operation = Scripted { _ in isReady.load(ordering: .acquiring) }
        queue.addOperation(operation)
        queue.isSuspended = true
        isReady.store(true, ordering: .releasing)
        if setting == 1 { queue.maxConcurrentOperationCount = 3 }
        queue.isSuspended = false
        await queue.drain()
        #expect(operation.ran.value == 1)
    }

    /// At each end of an operation, the queue calls only a few of the overrides that have not
    /// announced a change.
    @Test("P1: many operations that are not ready cost each event little")
    func manyUnreadyOverridesCostLittle() async {
        let queue = OperationQueue()
        let isOpen = Atomic(false)
        let operations = (0..<1_000).map { _ in
            Scripted { _ in isOpen.load(ordering: .acquiring) }
        }
        await queue.addOperations(operations, waitUntilFinished: false)
        queue.maxConcurrentOperationCount = 1
        let (began, proceed) = (Signal(), Signal())
        queue.addOperation {
            began.send()
            proceed.wait()
        }
        #expect(await began.arrives())
        for _ in 0..<200 { queue.addOperation {} }
        proceed.send()
        #expect(await comesTrue { queue.operationCount == 1_000 })
        let calls = operations.reduce(0) { $0 + $1.calls.value }
        #expect(calls < 40_000)
        isOpen.store(true, ordering: .releasing)
        queue.addOperation {}
        await queue.drain()
        #expect(operations.allSatisfy { $0.ran.value == 1 })
    }

    /// The pattern of one `state` on which all three flags depend, as on Apple's platforms
    /// (`keyPathsForValuesAffectingIsReady()` and so on).
    private class Stated: Operation, @unchecked Sendable {
        enum Stage { case pending, ready, executing, finished }
        private let current = Locked(Stage.pending)
        let usesKeyPath: Bool
        init(usesKeyPath: Bool) { self.usesKeyPath = usesKeyPath }
        var state: Stage {
            get { current.withLock { $0 } }
            set {
                if usesKeyPath {
                    willChangeValue(for: \.state)
                    current.withLock { $0 = newValue }
                    didChangeValue(for: \.state)
                } else {
                    willChangeValue(forKey: "state")
                    current.withLock { $0 = newValue }
                    didChangeValue(forKey: "state")
                }
            }
        }
        override var isReady: Bool {
            switch state {
            case .pending:
                // Evaluates its conditions inside the getter, as in Apple's sample.
                if super.isReady { evaluate() }
                return state == .ready
            case .ready: return super.isReady
            case .executing, .finished: return false
            }
        }
        override var isExecuting: Bool { state == .executing }
        override var isFinished: Bool { state == .finished }
        func evaluate() { DispatchQueue.global().async { [self] in state = .ready } }
        override func start() {
            state = .executing
            DispatchQueue.global().async { [self] in state = .finished }
        }
    }

    @Test("O28: announcing one key updates all flags that depend on it", arguments: [true, false])
    func announcingStateKeyUpdatesAllFlags(usesKeyPath: Bool) async {
        let queue = serialQueue()
        let operations = (0..<20).map { _ in Stated(usesKeyPath: usesKeyPath) }
        for (later, earlier) in zip(operations.dropFirst(), operations) {
            later.addDependency(earlier)
        }
        await queue.addOperations(operations, waitUntilFinished: true)
        #expect(operations.allSatisfy { $0.state == .finished })
    }

    /// The operation's own observer decides when the dependencies have finished. Until then the
    /// override returns false.
    @Test("M1: an operation may observe its own isReady")
    func operationMayObserveItsOwnIsReady() async {
        final class Deciding: Operation, @unchecked Sendable {
            let decided = Atomic(false)
            let ran = Tally()
            private let token = Locked<KeyValueObservation?>(nil)
            override init() {
                super.init()
                let token = observe(\.isReady) { operation, _ in operation.decide() }
                self.token.withLock { $0 = token }
            }
            override var isReady: Bool { super.isReady && decided.load(ordering: .acquiring) }
            var mayDecide: Bool { dependencies.allSatisfy(\.isFinished) }
            func decide() {
                guard mayDecide, !decided.exchange(true, ordering: .acquiringAndReleasing) else {
                    return
                }
                didChangeValue(forKey: "isReady")
            }
            override func main() { ran.increment() }
        }
        let queue = OperationQueue()
        let (dependency, operation) = (Operation(), Deciding())
        operation.addDependency(dependency)
        await queue.addOperations([operation, dependency], waitUntilFinished: true)
        #expect(operation.ran.value == 1)
    }
}
