import Dispatch
import OperationsTestKit
import Synchronization
import TestSupport
import Testing

@testable import Operations

/// When an override of `isReady` is asked, and what its answer means.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ReadinessTests {
    /// Answers what a closure says, with the number of the question.
    private final class Asked: Operation, @unchecked Sendable {
        let (asked, ran) = (Tally(), Tally())
        private let answer: @Sendable (Int) -> Bool
        init(_ answer: @escaping @Sendable (Int) -> Bool) { self.answer = answer }
        override var isReady: Bool { super.isReady && answer(asked.increment()) }
        override func main() { ran.increment() }
    }

    @Test("O26: the first yes starts it")
    func itIsAskedOnceBeforeAStart() async {
        let queue = OperationQueue()
        let (once, turns, always) = (
            Asked { $0 == 1 }, Asked { $0 % 2 == 1 }, Asked { _ in true }
        )
        await queue.addOperations([once, turns, always], waitUntilFinished: true)
        for operation in [once, turns, always] {
            #expect(operation.ran.value == 1 && operation.asked.value == 1)
        }
    }

    @Test("O26: one that waits for its turn is not asked again")
    func itIsAskedOnceHoweverLongItWaits() async {
        let queue = suspendedQueue()
        let operations = (0..<50).map { _ in Asked { $0 == 1 } }
        await queue.addOperations(operations, waitUntilFinished: false)
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = false
        await queue.drain()
        #expect(operations.allSatisfy { $0.asked.value == 1 })
    }

    private final class Alone: Operation, @unchecked Sendable {
        let answer = Atomic(true)
        let ran = Tally()
        override var isReady: Bool { answer.load(ordering: .acquiring) }
        override func main() { ran.increment() }
        func change(to value: Bool) {
            answer.store(value, ordering: .releasing)
            didChangeValue(forKey: "isReady")
        }
    }

    @Test("O32: one that does not ask super starts before its dependencies have finished")
    func itNeedNotWaitForDependencies() async {
        let queue = OperationQueue()
        let (at, later) = (Alone(), Alone())
        let dependency = Operation()
        for operation in [at, later] { operation.addDependency(dependency) }
        later.answer.store(false, ordering: .releasing)
        await queue.addOperations([at, later], waitUntilFinished: false)
        await at.finished()
        #expect(!later.isFinished)
        later.change(to: true)
        await queue.drain()
        #expect(at.ran.value == 1 && later.ran.value == 1 && !dependency.isFinished)
        // Neither is touched by the end of what it did not wait for.
        dependency.start()
    }

    @Test("O13: a dependency that is added later does not hold back who does not ask for it")
    func aDependencyThatComesLater() async {
        let queue = suspendedQueue()
        let (ignoring, asking) = (Alone(), Asked { _ in true })
        await queue.addOperations([ignoring, asking], waitUntilFinished: false)
        let dependency = Operation()
        for operation in [ignoring, asking] as [Operation] { operation.addDependency(dependency) }
        queue.isSuspended = false
        await ignoring.finished()
        #expect(asking.ran.value == 0)
        dependency.start()
        await queue.drain()
        #expect(ignoring.ran.value == 1 && asking.ran.value == 1)
    }

    @Test("O32: a change that nobody announces is seen at the queue's next event")
    func aSilentChange() async {
        let queue = OperationQueue()
        let isReady = Atomic(false)
        let operation = Asked { _ in isReady.load(ordering: .acquiring) }
        queue.addOperation(operation)
        #expect(await comesTrue { operation.asked.value == 1 })
        isReady.store(true, ordering: .releasing)
        queue.addOperation {}
        await queue.drain()
        #expect(operation.ran.value == 1)
    }

    @Test(
        "O32: going on after a suspension, and another width, are such events", arguments: [0, 1])
    func aSilentChangeAndTheQueuesSettings(setting: Int) async {
        let queue = OperationQueue()
        let isReady = Atomic(false)
        let operation = Asked { _ in isReady.load(ordering: .acquiring) }
        queue.addOperation(operation)
        queue.isSuspended = true
        isReady.store(true, ordering: .releasing)
        if setting == 1 { queue.maxConcurrentOperationCount = 3 }
        queue.isSuspended = false
        await queue.drain()
        #expect(operation.ran.value == 1)
    }

    /// Each end asks only a few of those that have not announced anything.
    @Test("P1: many that say no cost each event little")
    func manyThatSayNo() async {
        let queue = OperationQueue()
        let isOpen = Atomic(false)
        let operations = (0..<1_000).map { _ in
            Asked { _ in isOpen.load(ordering: .acquiring) }
        }
        await queue.addOperations(operations, waitUntilFinished: false)
        queue.maxConcurrentOperationCount = 1
        let (began, goOn) = (Signal(), Signal())
        queue.addOperation {
            began.send()
            goOn.wait()
        }
        #expect(await began.arrives())
        for _ in 0..<200 { queue.addOperation {} }
        goOn.send()
        #expect(await comesTrue { queue.operationCount == 1_000 })
        let asked = operations.reduce(0) { $0 + $1.asked.value }
        #expect(asked < 40_000)
        isOpen.store(true, ordering: .releasing)
        queue.addOperation {}
        await queue.drain()
        #expect(operations.allSatisfy { $0.ran.value == 1 })
    }

    /// The pattern of one `state` on which all three depend, as on Apple's systems
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
                // Finds out in the question itself, as in Apple's sample.
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

    @Test("O28: a key on which the three states depend", arguments: [true, false])
    func oneStateForAll(usesKeyPath: Bool) async {
        let queue = serialQueue()
        let operations = (0..<20).map { _ in Stated(usesKeyPath: usesKeyPath) }
        for (later, earlier) in zip(operations.dropFirst(), operations) {
            later.addDependency(earlier)
        }
        await queue.addOperations(operations, waitUntilFinished: true)
        #expect(operations.allSatisfy { $0.state == .finished })
    }

    /// Its own observer decides when the dependencies have gone; until then its override says no.
    @Test("M1: an operation may observe its own isReady")
    func itsOwnObserver() async {
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
