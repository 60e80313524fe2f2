import Operations
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

/// Dependencies at the limits of their contract: rows O11–O18 and B1.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct DependencyContractTests {
    @Test("O13: a dependency added to an executing or finished operation has no effect")
    func dependencyAddedAfterTheStartHasNoEffect() async {
        let (late, later) = (Operation(), Operation())
        let operation = BlockOperation()
        operation.addExecutionBlock { [unowned operation] in operation.addDependency(late) }
        let queue = OperationQueue()
        await queue.addOperations([operation], waitUntilFinished: true)
        operation.addDependency(later)
        operation.start()
        #expect(operation.isFinished)
        // Neither edge may have an effect when its dependency finishes.
        late.start()
        later.start()
        #expect(operation.isFinished)
        #expect(queue.operationCount == 0)
    }

    @Test("O13: a dependency added to a ready operation that waits for a slot is honored")
    func dependencyAddedToAReadyOperationIsHonored() async {
        let queue = serialQueue()
        let other = OperationQueue()
        let (began, proceed) = (Signal(), Signal())
        let order = TestRecorder<String>()
        let first = BlockOperation {
            began.send()
            proceed.wait()
        }
        queue.addOperation(first)
        let dependency = BlockOperation { order.record("dependency") }
        let operation = BlockOperation { order.record("operation") }
        queue.addOperation(operation)
        await onThread { _ = began.wait() }
        operation.addDependency(dependency)
        #expect(!operation.isReady)
        proceed.send()
        await first.waitUntilFinished()
        let overtakes = BlockOperation { order.record("overtakes") }
        queue.addOperation(overtakes)
        await overtakes.waitUntilFinished()
        other.addOperation(dependency)
        await queue.drain()
        #expect(order.events == ["overtakes", "dependency", "operation"])
    }

    @Test("O11: a cancelled dependency that nothing starts holds its dependents back")
    func cancelledDependencyInNoQueueHoldsDependentsBack() async {
        let queue = OperationQueue()
        let (dependency, dependent) = (Operation(), Operation())
        dependent.addDependency(dependency)
        queue.addOperation(dependent)
        dependency.cancel()
        await OperationQueue().addOperations([Operation()], waitUntilFinished: true)
        #expect(!dependent.isReady && !dependent.isFinished)
        dependency.start()
        await queue.drain()
        #expect(dependent.isFinished)
    }

    @Test("O12: cancellation does not reach dependents, at any distance")
    func cancellationDoesNotPropagate() async {
        let ran = Tally()
        let chain = (0..<10).map { _ in BlockOperation { ran.increment() } }
        for (later, earlier) in zip(chain.dropFirst(), chain) { later.addDependency(earlier) }
        chain[0].cancel()
        await OperationQueue().addOperations(chain, waitUntilFinished: true)
        #expect(chain.map(\.isCancelled) == [true] + Array(repeating: false, count: 9))
        #expect(ran.value == 9)
    }

    @Test("O14: a graph over four queues, one of them the main queue, runs in dependency order")
    func dependenciesHoldAcrossManyQueues() async {
        let queues = [OperationQueue(), serialQueue(), OperationQueue(), OperationQueue.main]
        let order = TestRecorder<Int>()
        let operations = (0..<200).map { index in BlockOperation { order.record(index) } }
        for (later, earlier) in zip(operations.dropFirst(), operations) {
            later.addDependency(earlier)
        }
        for (index, operation) in operations.enumerated().reversed() {
            queues[index % queues.count].addOperation(operation)
        }
        await operations[199].waitUntilFinished()
        #expect(order.events == Array(0..<200))
    }

    @Test("O16: removing one of two unfinished dependencies does not make an operation ready")
    func removingOneOfTwoDependenciesDoesNotMakeReady() {
        let (a, b, operation) = (Operation(), Operation(), Operation())
        operation.addDependency(a)
        operation.addDependency(b)
        operation.removeDependency(a)
        #expect(!operation.isReady)
        #expect(operation.dependencies == [b])
        a.start()
        #expect(!operation.isReady)
        b.start()
        #expect(operation.isReady)
    }

    @Test("O16: removing an operation that is not a dependency changes nothing")
    func removingAnUnrelatedOperationChangesNothing() {
        let (a, unrelated, operation) = (Operation(), Operation(), Operation())
        operation.addDependency(a)
        operation.removeDependency(unrelated)
        #expect(operation.dependencies == [a])
        #expect(!operation.isReady)
        a.start()
        operation.removeDependency(a)
        #expect(operation.isReady)
    }

    @Test("O18: removing an edge breaks a cycle")
    func removingAnEdgeBreaksACycle() async {
        // This test runs in a process of its own, because one handler receives all findings.
        await #expect(processExitsWith: .success) {
            let findings = Tally()
            OperationsDiagnostics.handler = { _ in findings.increment() }
            let queue = OperationQueue()
            let operations = (0..<3).map { _ in Operation() }
            for index in operations.indices {
                operations[index].addDependency(operations[(index + 1) % 3])
            }
            await queue.addOperations(operations, waitUntilFinished: false)
            #expect(await comesTrue { findings.value == 1 })
            #expect(queue.operationCount == 3)
            operations[1].removeDependency(operations[2])
            await queue.drain()
            let areFinished = operations.allSatisfy(\.isFinished)
            #expect(areFinished)
        }
    }

    /// Every edge leads from a later to an earlier operation, so that there are no cycles.
    @Test(
        "O9, O13, O16, B1: after random changes, isReady agrees with a simple model",
        arguments: contractSeeds)
    func randomChangesAgreeWithTheModel(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<max(10, 200 / slowness) {
            let operations = (0..<12).map { _ in Operation() }
            var edges: [Set<Int>] = Array(repeating: [], count: 12)
            var (finished, cancelled): (Set<Int>, Set<Int>) = ([], [])
            func isReady(_ index: Int) -> Bool {
                cancelled.contains(index) || edges[index].isSubset(of: finished)
            }
            for step in 0..<120 {
                let later = Int.random(in: 1..<12, using: &random)
                let earlier = Int.random(in: 0..<later, using: &random)
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<4:
                    operations[later].addDependency(operations[earlier])
                    edges[later].insert(earlier)
                case 4..<7:
                    operations[later].removeDependency(operations[earlier])
                    edges[later].remove(earlier)
                case 7:
                    operations[later].cancel()
                    if !finished.contains(later) { cancelled.insert(later) }
                default:
                    guard isReady(earlier) else { continue }
                    operations[earlier].start()
                    finished.insert(earlier)
                }
                for index in operations.indices {
                    #expect(
                        operations[index].isFinished == finished.contains(index),
                        "seed \(seed), step \(step), operation \(index)")
                    // After the end, `isReady` is unspecified if an edge is added.
                    guard !finished.contains(index) else { continue }
                    #expect(
                        operations[index].isReady == isReady(index),
                        "seed \(seed), step \(step), operation \(index)")
                }
            }
        }
    }

    @Test(
        "O13, O16, B1: random changes in a suspended queue are honored when the queue resumes",
        arguments: contractSeeds)
    func randomChangesInAQueueAreHonored(seed: UInt64) async {
        var random = SplitMix64(seed: seed)
        for _ in 0..<max(10, 100 / slowness) {
            let queue = suspendedQueue()
            let order = TestRecorder<Int>()
            let operations = (0..<30).map { index in BlockOperation { order.record(index) } }
            for operation in operations.shuffled(using: &random) { queue.addOperation(operation) }
            var edges: Set<[Int]> = []
            for _ in 0..<200 {
                let later = Int.random(in: 1..<30, using: &random)
                let earlier = Int.random(in: 0..<later, using: &random)
                if Bool.random(using: &random) {
                    operations[later].addDependency(operations[earlier])
                    edges.insert([earlier, later])
                } else {
                    operations[later].removeDependency(operations[earlier])
                    edges.remove([earlier, later])
                }
            }
            queue.isSuspended = false
            await queue.drain()
            var places = Array(repeating: -1, count: 30)
            for (place, index) in order.events.enumerated() { places[index] = place }
            #expect(order.events.count == 30, "seed \(seed)")
            #expect(edges.allSatisfy { places[$0[0]] < places[$0[1]] }, "seed \(seed)")
        }
    }
}
