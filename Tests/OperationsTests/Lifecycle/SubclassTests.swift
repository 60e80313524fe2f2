import Dispatch
import Operations
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

/// Subclasses that keep their own state and announce it by key-value notifications.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct SubclassTests {
    @Test func stateKeepingSubclassesRunInOrder() async {
        let order = TestRecorder<Int>()
        let queue = serialQueue()
        for index in 0..<50 { queue.addOperation(DispatchedOperation { order.record(index) }) }
        await queue.drain()
        #expect(order.events == Array(0..<50))
    }

    /// A subclass as it is written for Foundation, with properties of its own.
    private class Upload: Operation, @unchecked Sendable {
        struct Refused: Error {}

        private(set) var error: (any Error)?
        private(set) var attempt = 0

        override func main() {
            attempt += 7
            fail(Refused())
        }

        func fail(_ error: any Error) { self.error = error }
    }

    @Test func subclassMayDeclareItsOwnError() async {
        final class ReportingUpload: Upload, @unchecked Sendable {
            override func fail(_ error: any Error) {
                super.fail(error)
                (self as Operation).fail(error)
            }
        }
        let queue = OperationQueue()
        let (plain, reporting) = (Upload(), ReportingUpload())
        await queue.addOperations([plain, reporting], waitUntilFinished: true)
        #expect(
            plain.error is Upload.Refused && reporting.error is Upload.Refused
                && plain.attempt == 7)
        #expect((plain as Operation).error == nil && (plain as Operation).attempt == 1)
        #expect((reporting as Operation).error is Upload.Refused)
    }

    @Test func subclassKeepsSlotUntilFinished() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 3
        let inside = Occupancy()
        for _ in 0..<100 {
            queue.addOperation(
                DispatchedOperation {
                    inside.enter()
                    inside.leave()
                })
        }
        await queue.drain()
        #expect(inside.highest <= 3)
    }

    @Test func subclassesTakePartInDependencies() async {
        let order = TestRecorder<String>()
        let queue = OperationQueue()
        let network = DispatchedOperation { order.record("network") }
        let decrypt = BlockOperation { order.record("decrypt") }
        let filter = DispatchedOperation { order.record("filter") }
        decrypt.addDependency(network)
        filter.addDependency(decrypt)
        await queue.addOperations([filter, decrypt, network], waitUntilFinished: true)
        #expect(order.events == ["network", "decrypt", "filter"])
    }

    @Test func subclassCancelledBeforeStartDoesNoWork() async {
        let ran = Tally()
        let queue = suspendedQueue()
        let operation = DispatchedOperation { ran.increment() }
        queue.addOperation(operation)
        operation.cancel()
        // The queue still calls `start()`, so it has to be resumed.
        queue.isSuspended = false
        await queue.drain()
        #expect(ran.value == 0)
    }

    /// Has a flag of its own for its cancellation and never calls `super.cancel()`.
    private final class OwnFlag: Operation, @unchecked Sendable {
        private let flag = Atomic(false)
        private let over = Atomic(false)
        let seen = TestRecorder<Bool>()
        override var isCancelled: Bool { flag.load(ordering: .acquiring) }
        override var isFinished: Bool { over.load(ordering: .acquiring) }
        override func cancel() {
            flag.store(true, ordering: .releasing)
            didChangeValue(forKey: "isCancelled")
        }
        override func main() {
            seen.record(isCancelled)
            over.store(true, ordering: .releasing)
            didChangeValue(forKey: "isFinished")
        }
    }

    /// As in Foundation, only the flag of the base class keeps the default `start()` from calling
    /// `main()`. Such a subclass ends itself there.
    @Test(arguments: [true, false])
    func defaultStartIgnoresOverriddenIsCancelled(isInQueue: Bool) async {
        let operation = OwnFlag()
        let wasFinished = TestRecorder<Bool>()
        let dependent = BlockOperation { wasFinished.record(operation.isFinished) }
        dependent.addDependency(operation)
        let queue = suspendedQueue()
        queue.addOperation(dependent)
        if isInQueue { queue.addOperation(operation) }
        operation.cancel()
        queue.isSuspended = false
        if !isInQueue { operation.start() }
        await queue.drain()
        #expect(operation.seen.events == [true] && wasFinished.events == [true])
    }

    @Test func overriddenIsCancelledDoesNotMakeStartLegal() {
        let (operation, dependency) = (OwnFlag(), Operation())
        operation.addDependency(dependency)
        operation.cancel()
        #expect(throws: OperationMisuse.self) { try operation.startChecked() }
        dependency.start()
        #expect(throws: Never.self) { try operation.startChecked() }
        #expect(operation.seen.events == [true])
    }

    @Test(arguments: ["isFinished", "finished", "keyPath"])
    func everySpellingOfKeyIsRecognized(key: String) async {
        final class Spelled: Operation, @unchecked Sendable {
            let key: String
            let over = Atomic(false)
            init(_ key: String) { self.key = key }
            override var isFinished: Bool { over.load(ordering: .acquiring) }
            override func start() {
                DispatchQueue.global().async { [self] in
                    over.store(true, ordering: .releasing)
                    if key == "keyPath" {
                        didChangeValue(for: \.isFinished)
                    } else {
                        didChangeValue(forKey: key)
                    }
                }
            }
        }
        let queue = OperationQueue()
        queue.addOperation(Spelled(key))
        await queue.drain()
    }

    @Test func announcementAloneDoesNotFinishOperation() async {
        let queue = OperationQueue()
        let operation = StateKeepingOperation()
        queue.addOperation(operation)
        operation.didChangeValue(forKey: "isFinished")
        #expect(queue.operationCount == 1)
        // Until then `start()` would overwrite the state.
        #expect(await comesTrue { operation.stage == .executing })
        operation.stage = .finished
        operation.didChangeValue(forKey: "isFinished")
        await queue.drain()
    }

    @Test func unannouncedFinishInsideStartIsDetected() async {
        final class Silent: Operation, @unchecked Sendable {
            let over = Atomic(false)
            override var isFinished: Bool { over.load(ordering: .acquiring) }
            override func start() { over.store(true, ordering: .releasing) }
        }
        let queue = OperationQueue()
        queue.addOperation(Silent())
        await queue.drain()
    }

    @Test func finishingBeforeQueueStartsItIsAccepted() async {
        let queue = suspendedQueue()
        let operation = StateKeepingOperation()
        let dependent = Operation()
        dependent.addDependency(operation)
        queue.addOperation(operation)
        operation.stage = .finished
        await operation.waitUntilFinished()
        #expect(queue.operationCount == 0)
        #expect(dependent.isReady)
        queue.addOperation(dependent)
        queue.isSuspended = false
        await queue.drain()
    }

    @Test func isReadyOverrideHoldsBackUntilAnnouncement() async {
        final class Conditional: Operation, @unchecked Sendable {
            let condition = Atomic(false)
            let ran = Tally()
            override var isReady: Bool { super.isReady && condition.load(ordering: .acquiring) }
            override func main() { ran.increment() }
        }
        let queue = OperationQueue()
        let operation = Conditional()
        queue.addOperation(operation)
        await queue.addOperations([BlockOperation {}], waitUntilFinished: true)
        #expect(operation.ran.value == 0)
        operation.condition.store(true, ordering: .releasing)
        operation.didChangeValue(forKey: "isReady")
        await queue.drain()
        #expect(operation.ran.value == 1)
    }

    /// The value flips all the time while the queue reads it; no notification may be lost.
    @Test func flickeringReadinessIsNeverLost() async {
        final class Flicker: Operation, @unchecked Sendable {
            let flag = Atomic(false)
            override var isReady: Bool { super.isReady && flag.load(ordering: .acquiring) }
            func set(_ value: Bool) {
                flag.store(value, ordering: .releasing)
                didChangeValue(forKey: "isReady")
            }
        }
        for _ in 0..<500 {
            let queue = OperationQueue()
            let operation = Flicker()
            queue.addOperation(operation)
            for _ in 0..<10 {
                operation.set(true)
                operation.set(false)
            }
            operation.set(true)
            await queue.drain()
        }
    }

    @Test func finishingWithoutQueueReleasesWaitersAndDependents() async {
        let operation = StateKeepingOperation()
        let dependent = Operation()
        dependent.addDependency(operation)
        let waiter = Task { await operation.waitUntilFinished() }
        operation.stage = .finished
        await waiter.value
        #expect(dependent.isReady)
    }
}
