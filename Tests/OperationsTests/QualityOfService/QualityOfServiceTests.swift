import Dispatch
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// The rules of promotion, as callers see them.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct QualityOfServiceTests {
    private func operation(_ quality: QualityOfService? = nil) -> BlockOperation {
        let operation = BlockOperation {}
        operation.qualityOfService = quality ?? .default
        return operation
    }

    // MARK: Where it was made

    @Test func operationInfersItsCreatorsQuality() async {
        let seen = TestRecorder<QualityOfService>()
        for quality in [QualityOfService.background, .default, .userInteractive] {
            let outer = BlockOperation { seen.record(Operation().effectiveQualityOfService) }
            outer.qualityOfService = quality
            await OperationQueue().addOperations([outer], waitUntilFinished: true)
        }
        #expect(seen.events == [.background, .default, .userInteractive])
    }

    @Test func operationMadeInAnAsyncBodyInfersItsQuality() async {
        let seen = TestRecorder<QualityOfService>()
        let outer = TypedOperation<Void> {
            await Task.yield()
            seen.record(Operation().effectiveQualityOfService)
        }
        outer.qualityOfService = .utility
        await OperationQueue().addOperations([outer], waitUntilFinished: true)
        #expect(seen.events == [.utility])
    }

    @Test func mainThreadInfersUserInitiatedUntilSet() async {
        QualityOfServiceUse.begins(rank: 1)
        await MainActor.run {
            let operation = Operation()
            #expect(operation.effectiveQualityOfService == .userInitiated)
            #expect(operation.qualityOfService == .default)
            operation.qualityOfService = .default
            #expect(operation.effectiveQualityOfService == .default)
        }
    }

    // MARK: Queues

    @Test func addingPromotesToTheQueuesQuality() {
        let queue = suspendedQueue()
        queue.qualityOfService = .utility
        let (lower, higher, set) = (operation(), operation(.userInitiated), operation(.background))
        for operation in [set, lower] { queue.addOperation(operation) }
        #expect(set.effectiveQualityOfService == .utility)
        #expect(set.qualityOfService == .background)
        #expect(lower.effectiveQualityOfService == .utility)
        queue.addOperation(higher)
        #expect(higher.effectiveQualityOfService == .userInitiated)
        queue.cancelAllOperations()
    }

    @Test func raisedQueuePromotesAllAndLoweredNone() {
        let queue = suspendedQueue()
        let operations = (0..<5).map { _ in operation(.background) }
        queue.addOperation(operations[0])
        queue.qualityOfService = .userInitiated
        queue.addOperation(operations[1])
        queue.qualityOfService = .utility
        #expect(operations[0].effectiveQualityOfService == .userInitiated)
        #expect(operations[1].effectiveQualityOfService == .userInitiated)
        queue.addOperation(operations[2])
        #expect(operations[2].effectiveQualityOfService == .utility)
        queue.qualityOfService = .default
        queue.addOperation(operations[3])
        #expect(operations[3].effectiveQualityOfService == .background)
        queue.cancelAllOperations()
    }

    @Test func addedOperationPromotesOnlyThoseAhead() {
        let queue = suspendedQueue()
        let ahead = (0..<200).map { _ in operation(.background) }
        let behind = operation(.background)
        for operation in ahead { queue.addOperation(operation) }
        queue.addOperation(operation(.userInitiated))
        queue.addOperation(behind)
        #expect(ahead.allSatisfy { $0.effectiveQualityOfService == .userInitiated })
        #expect(behind.effectiveQualityOfService == .background)
        queue.cancelAllOperations()
    }

    @Test func promotedOperationPromotesThoseAhead() {
        let queue = suspendedQueue()
        let operations = (0..<9).map { _ in operation(.background) }
        for operation in operations { queue.addOperation(operation) }
        operations[4].qualityOfService = .utility
        #expect(
            operations.map(\.effectiveQualityOfService)
                == Array(repeating: .utility, count: 5) + Array(repeating: .background, count: 4))
        queue.cancelAllOperations()
    }

    @Test func promotionsSurviveGrowthAndCompactionOfTheRing() {
        let queue = suspendedQueue()
        let kept = (0..<4).map { _ in operation(.background) }
        let others = (0..<400).map { _ in operation(.background) }
        for (index, operation) in kept.enumerated() {
            queue.addOperation(operation)
            if index == 1 { queue.addOperation(self.operation(.utility)) }
            for other in others[index * 100..<index * 100 + 100] { queue.addOperation(other) }
            for other in others[index * 100..<index * 100 + 100] { other.cancel() }
        }
        #expect(
            kept.map(\.effectiveQualityOfService) == [.utility, .utility, .background, .background])
        queue.cancelAllOperations()
    }

    @Test func queueWithUnderlyingQueuePromotesNothing() {
        let queue = suspendedQueue()
        queue.qualityOfService = .utility
        queue.underlyingQueue = DispatchQueue(label: "other")
        let (first, last) = (operation(.background), operation(.userInteractive))
        queue.addOperation(first)
        queue.addOperation(last)
        queue.qualityOfService = .userInitiated
        #expect(first.effectiveQualityOfService == .background)
        queue.cancelAllOperations()
    }

    // MARK: Dependencies

    @Test func dependentPromotesAllItsDependencies() {
        let chain = (0..<10_000).map { _ in operation(.background) }
        for (dependency, dependent) in zip(chain, chain.dropFirst()) {
            dependent.addDependency(dependency)
        }
        chain.last?.qualityOfService = .userInitiated
        #expect(chain.allSatisfy { $0.effectiveQualityOfService == .userInitiated })
        let urgent = operation(.userInteractive)
        urgent.addDependency(chain[5_000])
        #expect(chain[0].effectiveQualityOfService == .userInteractive)
        #expect(chain[5_001].effectiveQualityOfService == .userInitiated)
        chain.last?.qualityOfService = .background
        #expect(chain[5_001].effectiveQualityOfService == .userInitiated)
    }

    @Test func promotionsEndInCycles() async {
        // In a process of its own: the cycle is reported to one handler for all.
        await #expect(processExitsWith: .success) {
            OperationsDiagnostics.handler = { _ in }
            let cycle = (0..<3).map { _ in BlockOperation {} }
            for operation in cycle { operation.qualityOfService = .background }
            for index in 0..<3 { cycle[index].addDependency(cycle[(index + 1) % 3]) }
            cycle[0].qualityOfService = .utility
            #expect(cycle.allSatisfy { $0.effectiveQualityOfService == .utility })
        }
    }

    @Test func promotionCrossesQueuesAndDependencies() {
        // urgent is behind middle, which waits for inner, which is behind innermost in another
        // queue, which waits for one in no queue.
        let (a, b) = (suspendedQueue(), suspendedQueue())
        let (middle, inner, innermost, last) = (
            operation(.background), operation(.background), operation(.background),
            operation(.background)
        )
        innermost.addDependency(last)
        middle.addDependency(inner)
        b.addOperation(innermost)
        b.addOperation(inner)
        a.addOperation(middle)
        let unconcerned = operation(.background)
        b.addOperation(unconcerned)
        a.addOperation(operation(.userInteractive))
        for operation in [middle, inner, innermost, last] {
            #expect(operation.effectiveQualityOfService == .userInteractive)
        }
        #expect(unconcerned.effectiveQualityOfService == .background)
        a.cancelAllOperations()
        b.cancelAllOperations()
    }

    @Test func queuesQualityPromotesDependencies() {
        let queue = suspendedQueue()
        queue.qualityOfService = .utility
        let (dependency, dependent) = (operation(.background), operation(.background))
        dependent.addDependency(dependency)
        queue.addOperation(dependent)
        #expect(dependency.effectiveQualityOfService == .utility)
        queue.qualityOfService = .userInitiated
        #expect(dependency.effectiveQualityOfService == .userInitiated)
        queue.cancelAllOperations()
    }

    // MARK: Waits

    @Test func waitInsideAnOperationPromotesItsTarget() async {
        let (inner, outerQueue) = (suspendedQueue(), OperationQueue())
        let (ahead, awaited) = (operation(.background), operation(.background))
        let dependency = operation(.background)
        ahead.addDependency(dependency)
        inner.addOperation(ahead)
        inner.addOperation(awaited)
        let outer = BlockOperation { awaited.waitUntilFinished() }
        outer.qualityOfService = .userInitiated
        outerQueue.addOperation(outer)
        // The wait begins at some time; nothing tells when.
        for operation in [awaited, ahead, dependency] {
            #expect(await comesTrue { operation.effectiveQualityOfService != .background })
            #expect(operation.effectiveQualityOfService == .userInitiated)
        }
        inner.cancelAllOperations()
        await outerQueue.drain()
    }

    @Test func asyncBodyPromotesItsTarget() async {
        let (inner, outerQueue) = (suspendedQueue(), OperationQueue())
        let awaited = operation(.background)
        inner.addOperation(awaited)
        let outer = TypedOperation<Void> { await inner.waitUntilAllOperationsAreFinished() }
        outer.qualityOfService = .userInteractive
        outerQueue.addOperation(outer)
        #expect(await comesTrue { awaited.effectiveQualityOfService != .background })
        #expect(awaited.effectiveQualityOfService == .userInteractive)
        inner.cancelAllOperations()
        await outerQueue.drain()
    }

    @Test func waitOfTheMainThreadIsUserInteractive() async {
        let queue = suspendedQueue()
        let (first, second) = (operation(.background), operation(.background))
        queue.addOperation(first)
        queue.addOperation(second)
        await OperationQueue.main.addOperations(
            [
                BlockOperation {
                    first.promoteForWait()
                    #expect(first.effectiveQualityOfService == .userInteractive)
                    #expect(second.effectiveQualityOfService == .background)
                    queue.promoteAllForWait()
                    #expect(second.effectiveQualityOfService == .userInteractive)
                }
            ], waitUntilFinished: true)
        queue.cancelAllOperations()
    }

    // MARK: Tasks

    @Test(arguments: [
        (QualityOfService.background, TaskPriority.background), (.utility, .utility),
        (.userInitiated, .userInitiated), (.userInteractive, .userInitiated),
    ])
    func taskHasThePriorityOfItsOperation(
        quality: QualityOfService, expected: TaskPriority
    ) async {
        let seen = TestRecorder<TaskPriority>()
        let record: @Sendable () async -> Void = { seen.record(Task.basePriority ?? .medium) }
        let prepared = TypedOperation<Void>(body: record)
        let plain = await withCheckedContinuation { continuation in
            BlockOperation {
                continuation.resume(
                    returning: TypedOperation<Void>(body: record))
            }.start()
        }
        for operation in [prepared, plain] {
            operation.qualityOfService = quality
            await OperationQueue().addOperations([operation], waitUntilFinished: true)
        }
        #expect(seen.events == [expected, expected])
    }
}
