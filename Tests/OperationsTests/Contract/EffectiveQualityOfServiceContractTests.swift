import Dispatch
import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

/// The effective quality of service: the largest of the property, the inferred quality and all
/// promotions (section 2.4, M9).
///
/// Operations are made on a plain thread, where nothing is inferred, unless the rule is about
/// inferring.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct EffectiveQualityOfServiceContractTests {
    private func made(_ service: QualityOfService? = nil) async -> Operation {
        await onThread {
            let operation = Operation()
            if let service { operation.qualityOfService = service }
            return operation
        }
    }

    private func queue(_ service: QualityOfService) -> OperationQueue {
        let queue = suspendedQueue()
        queue.qualityOfService = service
        return queue
    }

    private func drain(_ queues: OperationQueue...) async {
        for queue in queues { queue.isSuspended = false }
        for queue in queues { await queue.drain() }
    }

    // MARK: Property and inference

    @Test("2.4: the effective quality is default, or the property if only that is set")
    func propertyAloneIsInForce() async {
        #expect(await made().effectiveQualityOfService == .default)
        for service in QualityOfService.allCases {
            #expect(await made(service).effectiveQualityOfService == service)
        }
    }

    @Test("2.4: an operation made on the main thread is userInitiated, unless set, even to default")
    func mainThreadInfersUserInitiated() async {
        // Where another thread than the process's first one serves the main actor, the library
        // looks for the main actor only once the process uses a quality that changes a thread.
        Operation().qualityOfService = .background
        let (inferred, set, setToDefault) = await MainActor.run {
            let operations = (Operation(), Operation(), Operation())
            operations.1.qualityOfService = .background
            operations.2.qualityOfService = .default
            return operations
        }
        #expect(inferred.effectiveQualityOfService == .userInitiated)
        #expect(inferred.qualityOfService == .default)
        #expect(set.effectiveQualityOfService == .background)
        #expect(setToDefault.effectiveQualityOfService == .default)
    }

    @Test("2.4: an operation made inside another infers its effective quality, with promotions")
    func operationInsideAnotherInfersItsQuality() async {
        let outerQueue = OperationQueue()
        outerQueue.qualityOfService = .userInitiated
        let seen = TestRecorder<QualityOfService>()
        let outer = BlockOperation {
            seen.record(Operation().effectiveQualityOfService)
            let set = Operation()
            set.qualityOfService = .background
            seen.record(set.effectiveQualityOfService)
        }
        outer.qualityOfService = .utility
        await outerQueue.addOperations([outer], waitUntilFinished: true)
        #expect(seen.events == [.userInitiated, .background])
    }

    // MARK: Promotion by queues

    @Test("2.4: a queue raises the operations added to it, and lowers none")
    func queueRaisesAddedOperations() async {
        let queue = queue(.userInitiated)
        let (unset, lower, higher) = (
            await made(), await made(.background), await made(.userInteractive)
        )
        // The highest one first: one behind raises those ahead of it.
        for operation in [higher, lower, unset] { queue.addOperation(operation) }
        #expect(higher.effectiveQualityOfService == .userInteractive)
        #expect(lower.effectiveQualityOfService == .userInitiated)
        #expect(unset.effectiveQualityOfService == .userInitiated)
        await drain(queue)
    }

    @Test("2.4: a queue of default raises nothing")
    func defaultQueueRaisesNothing() async {
        let queue = suspendedQueue()
        let operation = await made(.background)
        queue.addOperation(operation)
        #expect(operation.effectiveQualityOfService == .background)
        await drain(queue)
    }

    @Test("2.4: raising a queue raises the operations in it, running or not")
    func raisingAQueueRaisesItsOperations() async {
        let queue = serialQueue()
        queue.qualityOfService = .background
        let (began, goOn) = (Signal(), Signal())
        let running = await onThread {
            BlockOperation {
                began.send()
                goOn.wait()
            }
        }
        let waiting = await made(.utility)
        queue.addOperation(running)
        queue.addOperation(waiting)
        await onThread { _ = began.wait() }
        queue.qualityOfService = .userInitiated
        #expect(running.effectiveQualityOfService == .userInitiated)
        #expect(waiting.effectiveQualityOfService == .userInitiated)
        goOn.send()
        await queue.drain()
    }

    @Test("2.4: lowering a queue affects only operations that are added later")
    func loweringAQueueLowersNothing() async {
        let queue = queue(.userInitiated)
        let (early, late) = (await made(.background), await made(.background))
        queue.addOperation(early)
        queue.qualityOfService = .utility
        queue.addOperation(late)
        #expect(early.effectiveQualityOfService == .userInitiated)
        #expect(late.effectiveQualityOfService == .utility)
        await drain(queue)
    }

    @Test("2.4: an added operation raises all ahead of it in the queue, and none behind it")
    func addedOperationRaisesAllAhead() async {
        let queue = suspendedQueue()
        let ahead = [await made(), await made(.background), await made(.utility)]
        for operation in ahead { queue.addOperation(operation) }
        queue.addOperation(await made(.userInitiated))
        let behind = await made(.background)
        queue.addOperation(behind)
        #expect(
            ahead.map(\.effectiveQualityOfService) == Array(repeating: .userInitiated, count: 3))
        #expect(behind.effectiveQualityOfService == .background)
        #expect(ahead[1].qualityOfService == .background)
        await drain(queue)
    }

    @Test("2.4: an operation whose property is raised in the queue raises all ahead of it")
    func raisedOperationRaisesAllAhead() async {
        let queue = suspendedQueue()
        let (ahead, behind) = (await made(.background), await made(.background))
        queue.addOperation(ahead)
        queue.addOperation(behind)
        behind.qualityOfService = .userInteractive
        #expect(ahead.effectiveQualityOfService == .userInteractive)
        await drain(queue)
    }

    // MARK: Promotion by dependees and waits

    @Test("2.4: a dependent raises its dependencies, at any distance, in any queue or none")
    func dependentRaisesItsDependencies() async {
        let (left, right) = (suspendedQueue(), suspendedQueue())
        let (a, b, c) = (await made(), await made(.background), await made(.userInitiated))
        left.addOperation(a)
        right.addOperation(b)
        b.addDependency(a)
        c.addDependency(b)
        #expect(b.effectiveQualityOfService == .userInitiated)
        #expect(a.effectiveQualityOfService == .userInitiated)
        await drain(left, right)
    }

    @Test("2.4: a dependent that is raised, by its property or its queue, raises its dependencies")
    func raisedDependentRaisesItsDependencies() async {
        let (left, right) = (suspendedQueue(), suspendedQueue())
        let (a, b) = (await made(.background), await made(.background))
        b.addDependency(a)
        left.addOperation(a)
        right.addOperation(b)
        b.qualityOfService = .utility
        #expect(a.effectiveQualityOfService == .utility)
        right.qualityOfService = .userInteractive
        #expect(a.effectiveQualityOfService == .userInteractive)
        await drain(left, right)
    }

    @Test("2.4: raising a chain of a million dependencies does not overflow the stack")
    func longChainDoesNotOverflowTheStack() async {
        let length = 1_000_000 / chainSlowness
        let service = await onThread(stackSize: 256 * 1024) {
            let first = Operation()
            var last = first
            for _ in 1..<length {
                let next = Operation()
                next.addDependency(last)
                last = next
            }
            last.qualityOfService = .userInitiated
            return first.effectiveQualityOfService
        }
        #expect(service == .userInitiated)
    }

    @Test("2.4: raising a cycle of dependencies ends")
    func raisingACycleEnds() async {
        await #expect(processExitsWith: .success) {
            OperationsDiagnostics.handler = { _ in }
            let (a, b) = await onThread { (Operation(), Operation()) }
            a.addDependency(b)
            b.addDependency(a)
            a.qualityOfService = .utility
            #expect(b.effectiveQualityOfService == .utility)
            b.qualityOfService = .userInteractive
            #expect(a.effectiveQualityOfService == .userInteractive)
            a.cancel()
        }
    }

    @Test("2.4: an operation that waits raises its target to its own effective quality")
    func waitingOperationRaisesItsTarget() async {
        let (inner, outer) = (suspendedQueue(), OperationQueue())
        let awaited = await made(.background)
        inner.addOperation(awaited)
        let waiter = await onThread { BlockOperation { awaited.waitUntilFinished() } }
        waiter.qualityOfService = .userInitiated
        outer.addOperation(waiter)
        #expect(await comesTrue { awaited.effectiveQualityOfService == .userInitiated })
        await drain(inner, outer)
    }

    @Test("2.4: a plain thread that waits raises nothing")
    func waitingPlainThreadRaisesNothing() async {
        let queue = OperationQueue()
        let (began, goOn) = (Signal(), Signal())
        let operation = await onThread {
            BlockOperation {
                began.send()
                goOn.wait()
            }
        }
        operation.qualityOfService = .background
        queue.addOperation(operation)
        await onThread { _ = began.wait() }
        let waiting = Task { await onThread { operation.waitUntilFinished() } }
        #expect(operation.effectiveQualityOfService == .background)
        goOn.send()
        await waiting.value
        #expect(operation.effectiveQualityOfService == .background)
    }

    @Test("2.4: a wait of the main thread raises to userInteractive")
    func waitingMainThreadRaisesToUserInteractive() async {
        // In a process of its own: other tests need the main thread.
        await #expect(processExitsWith: .success) {
            let queue = suspendedQueue()
            let awaited = await onThread { Operation() }
            awaited.qualityOfService = .background
            queue.addOperation(awaited)
            async let waiting: Void = MainActor.run { awaited.waitUntilFinished() }
            #expect(await comesTrue { awaited.effectiveQualityOfService == .userInteractive })
            queue.isSuspended = false
            await waiting
        }
    }

    @Test("2.4: in a queue with an underlying queue none of this applies")
    func underlyingQueueDisablesQuality() async {
        let queue = suspendedQueue()
        queue.underlyingQueue = DispatchQueue(label: "underlying")
        queue.qualityOfService = .userInteractive
        let (first, second) = (await made(.background), await made(.userInitiated))
        let before = first.effectiveQualityOfService
        queue.addOperation(first)
        queue.addOperation(second)
        queue.qualityOfService = .userInitiated
        #expect(first.effectiveQualityOfService == before)
        await drain(queue)
    }
}
