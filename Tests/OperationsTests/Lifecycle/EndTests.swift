import OperationsRuntime
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// What comes after an operation has left its queue: its completion block, and the release of what
/// its body has captured.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct EndTests {
    /// The ways in which a queue gets work.
    enum Body: CaseIterable, Sendable {
        case block, blockOperation, function, asyncFunction, suspendingFunction, withTrait
        case keptFunction, retried, method

        func add(to queue: OperationQueue, _ work: @escaping @Sendable () -> Void) {
            switch self {
            case .block: queue.addOperation(work)
            case .blockOperation: queue.addOperation(BlockOperation(block: work))
            case .function: queue.add { work() }
            case .asyncFunction: queue.add { () async in work() }
            case .suspendingFunction:
                queue.add {
                    await Task.yield()
                    work()
                }
            case .withTrait: queue.add(.timeout(.seconds(100))) { work() }
            case .keptFunction:
                let operation = TypedOperation { work() }
                queue.addOperation(operation)
                // Keeps the operation, as a program does that reads the result later.
                queue.addBarrierBlock { _ = operation.isFinished }
            case .retried:
                let attempts = Tally()
                queue.add(.retry(1, backoff: .none)) {
                    work()
                    if attempts.increment() == 1 { throw CancellationError() }
                }
            case .method:
                queue.addOperation(InvocationOperation(target: Caller(work), method: Caller.call))
            }
        }

        private final class Caller: Sendable {
            private let work: @Sendable () -> Void

            init(_ work: @escaping @Sendable () -> Void) { self.work = work }

            func call() { work() }
        }
    }

    /// An object that runs an action when it is released.
    private final class OnRelease: Sendable {
        private let action: @Sendable () -> Void

        init(_ action: @escaping @Sendable () -> Void) { self.action = action }

        deinit { action() }
    }

    /// What the `deinit` of a service often does that owns its queue.
    enum Ending: CaseIterable, Sendable { case waits, cancelsAndWaits }

    /// When the last reference to the service goes.
    enum Cancelling: CaseIterable, Sendable { case never, beforeTheStart }

    @Test(arguments: Body.allCases, [1, 2, -1])
    func deinitOfACapturedObjectMayWaitForTheQueue(_ body: Body, width: Int) async {
        for (ending, cancelling) in [
            (Ending.waits, Cancelling.never), (.waits, .beforeTheStart), (.cancelsAndWaits, .never),
        ] {
            let (queue, isGone, begin) = (OperationQueue(), Signal(), Signal())
            queue.maxConcurrentOperationCount = width
            queue.isSuspended = true
            do {
                let service = OnRelease {
                    #expect(Operation.current == nil)
                    if ending == .cancelsAndWaits { queue.cancelAllOperations() }
                    queue.waitUntilAllOperationsAreFinished()
                    isGone.send()
                }
                body.add(to: queue) {
                    begin.wait()
                    withExtendedLifetime(service) {}
                }
            }
            if cancelling == .beforeTheStart { queue.cancelAllOperations() }
            for _ in 0..<3 { body.add(to: queue) {} }
            queue.isSuspended = false
            for _ in 0..<2 { begin.send() }
            #expect(await isGone.arrives(), "\(ending), cancelled \(cancelling)")
            await queue.drain()
        }
    }

    @Test(arguments: Body.allCases)
    func serialQueueGoesOnWhileADeinitBlocks(_ body: Body) async {
        let (queue, hasGoneOn, isGone) = (serialQueue(), Signal(), Signal())
        queue.isSuspended = true
        do {
            let object = OnRelease {
                #expect(hasGoneOn.wait())
                isGone.send()
            }
            body.add(to: queue) { withExtendedLifetime(object) {} }
        }
        body.add(to: queue) { hasGoneOn.send() }
        queue.isSuspended = false
        #expect(await isGone.arrives())
        await queue.drain()
    }

    @Test(arguments: [1, -1])
    func deinitOfWhatACancellationHandlerCapturesMayWaitForTheQueue(width: Int) async {
        for isTyped in [false, true] {
            let (queue, isGone) = (suspendedQueue(), Signal())
            queue.maxConcurrentOperationCount = width
            let operation = isTyped ? TypedOperation { await Task.yield() } : BlockOperation {}
            do {
                let object = OnRelease {
                    #expect(Operation.current == nil)
                    queue.waitUntilAllOperationsAreFinished()
                    isGone.send()
                }
                operation.onCancel { withExtendedLifetime(object) {} }
            }
            queue.addOperation(operation)
            for _ in 0..<3 { queue.addOperation(BlockOperation {}) }
            queue.isSuspended = false
            #expect(await isGone.arrives())
            await queue.drain()
        }
    }

    @Test func waitsForTheQueueEndBeforeADeinitThatBlocks() async {
        for body in Body.allCases {
            let (queue, mayEnd, isGone) = (suspendedQueue(), Signal(), Signal())
            do {
                let object = OnRelease {
                    #expect(mayEnd.wait())
                    isGone.send()
                }
                body.add(to: queue) { withExtendedLifetime(object) {} }
            }
            queue.isSuspended = false
            await queue.drain()
            mayEnd.send()
            #expect(await isGone.arrives(), "\(body)")
        }
    }

    /// A thread that goes on after a wait for the queue often uses what the bodies have captured.
    @Test func waitForTheQueueEndsAfterTheReleaseOfItsLastBodies() async {
        // A release that takes 5 ms is not waited for, and 2 ms may become 5, hence several rounds.
        for _ in 0..<50 {
            let (queue, isOver, isReleased) = (suspendedQueue(), Signal(), Signal())
            let endedEarly = Tally()
            do {
                let object = OnRelease {
                    if isOver.wait(milliseconds: 2) { endedEarly.increment() }
                    isReleased.send()
                }
                queue.addOperation { withExtendedLifetime(object) {} }
            }
            startTestThread {
                queue.waitUntilAllOperationsAreFinished()
                isOver.send()
            }
            #expect(await comesTrue { queue.snapshot { !$0.waiters.isEmpty } })
            queue.isSuspended = false
            #expect(await isReleased.arrives())
            if endedEarly.value == 0 { return }
        }
        Issue.record("the wait ended before the release in each round")
    }

    @Test func blockThatHasEndedIsReleasedAlthoughTheNextOneOfItsClaimBlocks() async {
        let (queue, isReleased) = (serialQueue(), Signal())
        queue.event { $0.slots.pace.typicalNanoseconds = 1 }
        queue.isSuspended = true
        do {
            let object = OnRelease { isReleased.send() }
            queue.addOperation { withExtendedLifetime(object) {} }
        }
        queue.addOperation { #expect(isReleased.wait()) }
        queue.isSuspended = false
        await queue.drain()
    }

    /// An override of `isReady` that blocks when it is read again.
    private final class Hesitant: Operation, @unchecked Sendable {
        let mayAnswer = Signal()
        private let reads = Tally()

        override var isReady: Bool {
            guard super.isReady, reads.increment() > 1 else { return false }
            return mayAnswer.wait()
        }
    }

    @Test func overrideOfIsReadyThatBlocksHoldsNoSlot() async {
        let (queue, hesitant) = (serialQueue(), Hesitant())
        queue.isSuspended = true
        queue.addOperation(hesitant)
        queue.addOperation(BlockOperation {})
        queue.addOperation(BlockOperation { hesitant.mayAnswer.send() })
        // The resumption reads it, too.
        startTestThread { queue.isSuspended = false }
        await queue.drain()
        #expect(hesitant.isFinished)
    }

    /// An operation that is ready once somebody opens it. Nothing tells the queue of that.
    private final class Gated: Operation, @unchecked Sendable {
        private let gate = Tally()

        func open() { gate.increment() }

        override var isReady: Bool { super.isReady && gate.value > 0 }
    }

    @Test(arguments: [Body.block, .blockOperation])
    func deinitMayWaitForAnOperationThatIsReadAgain(_ body: Body) async {
        let (queue, gated, ends) = (suspendedQueue(), Gated(), Tally())
        queue.addOperation(gated)
        do {
            let object = OnRelease {
                gated.waitUntilFinished()
                ends.increment()
            }
            body.add(to: queue) { withExtendedLifetime(object) { gated.open() } }
        }
        queue.isSuspended = false
        await queue.drain()
        #expect(await comesTrue { ends.value == 1 })
    }

    // MARK: Completion blocks

    private final class Work: Operation, @unchecked Sendable {
        private let work: @Sendable () -> Void

        init(_ work: @escaping @Sendable () -> Void) { self.work = work }

        override func main() { work() }
    }

    enum Kind: String, CaseIterable, Codable, Sendable {
        case subclass, block, function, claimedBlock

        func operation(_ work: @escaping @Sendable () -> Void) -> Operation {
            switch self {
            case .subclass: Work(work)
            case .block, .claimedBlock: BlockOperation(block: work)
            case .function: TypedOperation(body: work)
            }
        }
    }

    /// All workers compute until the completion block has run, with more such work waiting.
    @Test(arguments: Kind.allCases)
    func completionBlockDoesNotWaitForOtherOperations(_ kind: Kind) async {
        await #expect(processExitsWith: .success) { [kind] in
            let (queue, completions) = (OperationQueue(), Tally())
            queue.maxConcurrentOperationCount = WorkerPool.cores
            if kind == .claimedBlock { queue.event { $0.slots.pace.typicalNanoseconds = 1 } }
            queue.isSuspended = true
            let first = kind.operation {}
            first.completionBlock = { completions.increment() }
            queue.addOperation(first)
            for _ in 0..<4 * WorkerPool.cores {
                queue.addOperation(
                    kind.operation {
                        let end = monotonicNanoseconds() + 30_000_000_000
                        while completions.value == 0 {
                            #expect(monotonicNanoseconds() < end)
                        }
                    })
            }
            queue.isSuspended = false
            await queue.drain()
        }
    }

    /// The slot of a serial queue is free while a completion block runs.
    @Test(arguments: Kind.allCases)
    func completionBlockMayWaitForItsSerialQueue(_ kind: Kind) async {
        let (queue, done) = (serialQueue(), Signal())
        if kind == .claimedBlock { queue.event { $0.slots.pace.typicalNanoseconds = 1 } }
        queue.isSuspended = true
        let first = kind.operation {}
        first.completionBlock = {
            #expect(Operation.current == nil)
            queue.waitUntilAllOperationsAreFinished()
            done.send()
        }
        queue.addOperation(first)
        for _ in 0..<3 { queue.addOperation(kind.operation {}) }
        queue.isSuspended = false
        #expect(await done.arrives())
    }
}
