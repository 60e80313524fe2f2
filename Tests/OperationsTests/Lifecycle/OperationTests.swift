import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct OperationTests {
    final class Work: Operation, @unchecked Sendable {
        let runs = Tally()
        override func main() { runs.increment() }
    }

    @Test func startRunsMainOnCallingThreadAndFinishes() {
        let operation = Work()
        #expect(operation.isReady)
        #expect(!operation.isExecuting)
        operation.start()
        #expect(operation.runs.value == 1)
        #expect(operation.isFinished)
        #expect(!operation.isExecuting)
    }

    @Test func isExecutingIsTrueInsideMain() {
        let seen = TestRecorder<Bool>()
        final class Look: Operation, @unchecked Sendable {
            let seen: TestRecorder<Bool>
            init(_ seen: TestRecorder<Bool>) { self.seen = seen }
            override func main() { seen.record(isExecuting && !isFinished) }
        }
        Look(seen).start()
        #expect(seen.events == [true])
    }

    @Test func startingFinishedOperationDoesNothing() {
        let operation = Work()
        operation.start()
        operation.start()
        #expect(operation.runs.value == 1)
        operation.addDependency(Work())
        operation.start()
        #expect(operation.runs.value == 1)
    }

    @Test func finishedOperationStaysReady() {
        let operation = Work()
        operation.start()
        #expect(operation.isReady)
    }

    @Test func startingCancelledOperationFinishesWithoutMain() {
        let operation = Work()
        operation.cancel()
        #expect(!operation.isFinished, "cancel() alone does not finish the operation")
        operation.start()
        #expect(operation.runs.value == 0)
        #expect(operation.isFinished)
        #expect(operation.isCancelled)
    }

    @Test func cancellingFinishedOperationChangesNothing() {
        let operation = Work()
        operation.start()
        operation.cancel()
        #expect(!operation.isCancelled)
    }

    @Test func cancellingMakesWaitingOperationReady() {
        let operation = Work()
        operation.addDependency(Work())
        #expect(!operation.isReady)
        operation.cancel()
        #expect(operation.isReady)
        operation.start()
        #expect(operation.isFinished)
    }

    @Test func completionBlockRunsOnceAfterEndAndIsReleased() async {
        let operation = Work()
        let runs = TestRecorder<Bool>()
        await withCheckedContinuation { continuation in
            operation.completionBlock = { [unowned operation] in
                runs.record(operation.isFinished)
                continuation.resume()
            }
            operation.start()
        }
        #expect(runs.events == [true])
        #expect(operation.completionBlock == nil)
    }

    @Test func accessesDoNotWrapTheCompletionBlock() async {
        await #expect(processExitsWith: .success) {
            let (operation, calls) = (Operation(), Tally())
            operation.completionBlock = { calls.increment() }
            for _ in 0..<30_000 { operation.completionBlock = operation.completionBlock }
            // Each wrapping would take some of this stack.
            await onThread(stackSize: 512 * 1024) { operation.completionBlock?() }
            #expect(calls.value == 1)
        }
    }

    @Test func completionBlockRunsForCancelledOperation() async {
        let operation = Work()
        operation.cancel()
        await withCheckedContinuation { continuation in
            operation.completionBlock = { continuation.resume() }
            operation.start()
        }
        #expect(operation.runs.value == 0)
    }

    @Test func completionBlockHasNoCurrentQueue() async {
        let queue = OperationQueue()
        let current: OperationQueue? = await withCheckedContinuation { continuation in
            let operation = Work()
            operation.completionBlock = { continuation.resume(returning: OperationQueue.current) }
            queue.addOperation(operation)
        }
        #expect(current == nil)
    }

    @Test(arguments: [
        (10_000, Operation.QueuePriority.veryHigh), (8, .veryHigh), (7, .high), (4, .high),
        (3, .normal),
        (0, .normal), (-3, .normal), (-4, .low), (-7, .low), (-8, .veryLow), (-99, .veryLow),
    ])
    func rawPrioritiesAreClampedTowardsNormal(raw: Int, expected: Operation.QueuePriority) {
        #expect(Operation.QueuePriority(clamping: raw) == expected)
    }

    @Test func qualityOfServiceHasFoundationsRawValues() {
        #expect(QualityOfService.allCases.map(\.rawValue) == [33, 25, 17, 9, -1])
        #expect(Operation().qualityOfService == .default)
    }

    @Test func threadPriorityIsClamped() {
        let operation = Operation()
        #expect(operation.threadPriority == 0.5)
        operation.threadPriority = 7
        #expect(operation.threadPriority == 1)
        operation.threadPriority = -1
        #expect(operation.threadPriority == 0)
    }

    @Test func operationsAreEqualByIdentity() {
        let a = Operation()
        let b = Operation()
        #expect(a == a)
        #expect(a != b)
        #expect(Set([a, b, a]).count == 2)
    }

    @Test func descriptionHasNameAndState() {
        let operation = Operation()
        operation.name = "resize"
        #expect(operation.description == "'resize' (in no queue)")
        operation.cancel()
        #expect(operation.description == "'resize' (cancelled, in no queue)")
        operation.start()
        #expect(operation.description == "'resize' (cancelled, finished)")
    }

    @Test func isConcurrentFollowsIsAsynchronous() {
        #expect(!Operation().isConcurrent)
        #expect(DispatchedOperation {}.isConcurrent)
    }
}
