import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

/// References to an operation that has just finished, and waits for it.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct FinishedOperationTests {
    private class OnlyMain: Operation, @unchecked Sendable {
        override func main() {}
    }

    // MARK: Completion blocks

    private static let kinds: [@Sendable () -> Operation] = [
        { BlockOperation {} }, { OnlyMain() }, { TypedOperation { 1 } },
        { TypedOperation<Void> {} },
        { DispatchedOperation {} },
        {
            let cancelled = OnlyMain()
            cancelled.cancel()
            return cancelled
        },
    ]

    @Test("O19: the operation is alive while its completion block runs", arguments: 0..<6)
    func completionBlockFindsItsOperation(kind: Int) async {
        let (alive, gone, released) = (Tally(), Tally(), Tally())
        let queue = OperationQueue()
        for _ in 0..<500 {
            let operation = Self.kinds[kind]()
            let token = Token(released)
            operation.completionBlock = { [weak operation] in
                withExtendedLifetime(token) {
                    if operation?.isFinished == true {
                        alive.increment()
                    } else {
                        gone.increment()
                    }
                }
            }
            queue.addOperation(operation)
        }
        #expect(await comesTrue { alive.value + gone.value == 500 })
        #expect(gone.value == 0)
        // The completion blocks are released, together with their captures.
        #expect(await comesTrue { released.value == 500 })
    }

    @Test("O20: neither completion block nor operation retains the other", arguments: 0..<6)
    func nothingIsRetainedAfterCompletionBlock(kind: Int) async {
        weak var freed: Operation?
        let ran = Signal()
        do {
            let operation = Self.kinds[kind]()
            freed = operation
            operation.completionBlock = { [unowned operation] in
                if operation.isFinished { ran.send() }
            }
            OperationQueue().addOperation(operation)
        }
        #expect(await ran.arrives())
        #expect(await comesTrue { freed == nil })
    }

    // MARK: Waits for finished operations

    /// Announces its end, then waits on the same thread.
    private final class Waiting: Operation, @unchecked Sendable {
        private let over = Atomic(false)
        let wait: @Sendable (Waiting) -> Void
        init(_ wait: @escaping @Sendable (Waiting) -> Void) { self.wait = wait }
        override var isFinished: Bool { over.load(ordering: .acquiring) }
        override func start() {
            over.store(true, ordering: .releasing)
            didChangeValue(forKey: "isFinished")
            wait(self)
        }
    }

    private static let waits: [@Sendable (Operation, OperationQueue) -> Void] = [
        { operation, _ in operation.waitUntilFinished() },
        { operation, _ in _ = operation.waitUntilFinished(within: .seconds(200)) },
        { _, queue in queue.waitUntilAllOperationsAreFinished() },
        { _, queue in _ = queue.waitUntilAllOperationsAreFinished(within: .seconds(200)) },
    ]

    /// A wait that does not return stops the program, or hangs.
    @Test("O22: a wait on the thread that has just finished the operation returns")
    func waitingForItselfAfterFinishingReturns() async {
        await #expect(processExitsWith: .success) {
            endSoon(1)
            let returned = Tally()
            for wait in Self.waits {
                let queue = OperationQueue()
                let operation = Waiting {
                    wait($0, queue)
                    returned.increment()
                }
                queue.addOperation(operation)
                await operation.finished()
                await queue.drain()
            }
            guard await comesTrue({ returned.value == 4 }) else { exit(1) }
        }
    }

    @Test("O22: a wait in an observer of isFinished returns", arguments: [true, false])
    func waitingInObserverOfIsFinishedReturns(usesFastPath: Bool) async {
        await #expect(processExitsWith: .success) { [usesFastPath] in
            endSoon(1)
            let returned = Tally()
            for (index, wait) in Self.waits.enumerated() {
                let queue = OperationQueue()
                let operation = usesFastPath ? BlockOperation {} : OnlyMain()
                let observation = operation.observe(\.isFinished) { operation, _ in
                    wait(operation, queue)
                    returned.increment()
                }
                queue.addOperation(operation)
                await operation.finished()
                await queue.drain()
                // An operation outside the fast path leaves its queue before its observers are
                // called: the observation has to last until then.
                guard await comesTrue({ returned.value == index + 1 }) else { exit(1) }
                withExtendedLifetime(observation) {}
            }
        }
    }

    @Test("O22: a finished operation that waits for its queue waits only for the other operations")
    func waitingForQueueAfterFinishingWaitsForTheRest() async {
        let queue = OperationQueue()
        let (proceed, ended) = (Signal(), TestRecorder<String>())
        let operation = Waiting { _ in
            proceed.send()
            queue.waitUntilAllOperationsAreFinished()
            ended.record("wait")
        }
        let other = BlockOperation {
            proceed.wait()
            ended.record("other")
        }
        await queue.addOperations([other, operation], waitUntilFinished: false)
        #expect(await comesTrue { ended.events.count == 2 })
        #expect(ended.events == ["other", "wait"])
    }

    @Test("O22: a task that the body created may wait for the operation after its end")
    func waitingInTaskThatOutlivesBodyReturns() async {
        await #expect(processExitsWith: .success) {
            endSoon(1)
            let (queue, returned) = (OperationQueue(), Tally())
            let proceed = AsyncStream.makeStream(of: Void.self)
            let operation = TypedOperation<Void> {
                guard let own = Operation.current else { return }
                Task {
                    for await _ in proceed.stream { break }
                    await own.waitUntilFinished()
                    await queue.waitUntilAllOperationsAreFinished()
                    returned.increment()
                }
            }
            queue.addOperation(operation)
            await operation.finished()
            proceed.continuation.yield()
            guard await comesTrue({ returned.value == 1 }) else { exit(1) }
        }
    }
}
