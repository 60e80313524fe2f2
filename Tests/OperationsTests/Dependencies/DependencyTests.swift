import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct DependencyTests {
    @Test func dependentStartsAfterItsDependency() async {
        let order = TestRecorder<Int>()
        let queue = OperationQueue()
        let operations = (0..<100).map { index in BlockOperation { order.record(index) } }
        for (later, earlier) in zip(operations.dropFirst(), operations) {
            later.addDependency(earlier)
        }
        await queue.addOperations(operations.reversed(), waitUntilFinished: true)
        #expect(order.events == Array(0..<100))
    }

    @Test func dependenciesWorkAcrossQueues() async {
        let order = TestRecorder<String>()
        let (downloads, filters) = (OperationQueue(), OperationQueue())
        let download = BlockOperation { order.record("download") }
        let filter = BlockOperation { order.record("filter") }
        filter.addDependency(download)
        filters.addOperation(filter)
        downloads.addOperation(download)
        await filters.drain()
        #expect(order.events == ["download", "filter"])
    }

    @Test func finishedDependenciesStayListed() {
        let (a, b) = (Operation(), Operation())
        b.addDependency(a)
        a.start()
        #expect(b.dependencies == [a])
        #expect(b.isReady)
    }

    @Test func addingDependencyTwiceChangesNothing() {
        let (a, b) = (Operation(), Operation())
        b.addDependency(a)
        b.addDependency(a)
        #expect(b.dependencies == [a])
        b.removeDependency(a)
        #expect(b.isReady)
    }

    @Test func finishedDependencyIsSatisfied() {
        let (a, b) = (Operation(), Operation())
        a.start()
        b.addDependency(a)
        #expect(b.isReady)
    }

    @Test func removingLastUnfinishedDependencyMakesReady() async {
        let queue = OperationQueue()
        let (never, b) = (Operation(), Operation())
        b.addDependency(never)
        queue.addOperation(b)
        #expect(!b.isReady)
        b.removeDependency(never)
        #expect(b.dependencies.isEmpty)
        await queue.drain()
        #expect(b.isFinished)
    }

    @Test func dependentWaitsForCancelledDependencyToFinish() {
        let (a, b) = (Operation(), Operation())
        b.addDependency(a)
        a.cancel()
        #expect(!b.isReady, "a cancelled operation has not finished")
        a.start()
        #expect(b.isReady)
    }

    @Test func cancelledDependencyLetsDependentsRun() async {
        let ran = Tally()
        let queue = OperationQueue()
        let a = BlockOperation { ran.increment() }
        let b = BlockOperation { ran.increment() }
        b.addDependency(a)
        a.cancel()
        await queue.addOperations([b, a], waitUntilFinished: true)
        #expect(ran.value == 1)
        #expect(!b.isCancelled)
    }

    @Test func dependencyAddedInSuspendedQueueIsRespected() async {
        let order = TestRecorder<Int>()
        let queue = suspendedQueue()
        let a = BlockOperation { order.record(1) }
        let b = BlockOperation { order.record(2) }
        queue.addOperation(b)
        b.addDependency(a)
        queue.isSuspended = false
        queue.addOperation(a)
        await queue.drain()
        #expect(order.events == [1, 2])
    }

    @Test func freedDependentDoesNoHarm() async {
        let a = Operation()
        do {
            let b = Operation()
            b.addDependency(a)
        }
        a.start()
        #expect(a.isFinished)
    }

    @Test func dependentsReadOutputOfDependencies() async {
        final class Produce: Operation, @unchecked Sendable {
            let output = Locked<Int?>(nil)
            override func main() { output.withLock { $0 = 21 } }
        }
        final class Double: Operation, @unchecked Sendable {
            let output = Locked<Int?>(nil)
            override func main() {
                let inputs = dependencies.compactMap { ($0 as? Produce)?.output.withLock { $0 } }
                output.withLock { $0 = inputs.first.map { $0 * 2 } }
            }
        }
        let (produce, double) = (Produce(), Double())
        double.addDependency(produce)
        await OperationQueue().addOperations([double, produce], waitUntilFinished: true)
        #expect(double.output.withLock { $0 } == 42)
    }

    @Test func releasingLongChainDoesNotOverflowStack() {
        var last = Operation()
        for _ in 0..<200_000 {
            let next = Operation()
            next.addDependency(last)
            last = next
        }
    }

    @Test func dependenciesStayInInsertionOrderAfterRemovals() {
        let (a, x, y, z) = (Operation(), Operation(), Operation(), Operation())
        a.addDependency(x)
        a.addDependency(y)
        a.removeDependency(x)
        a.addDependency(z)
        #expect(a.dependencies == [y, z])
        a.addDependency(x)
        #expect(a.dependencies == [y, z, x])
    }

    @Test(arguments: seeds(1, 2, 3))
    func randomDependenciesStayInInsertionOrder(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<200 {
            let operation = Operation()
            let others = (0..<12).map { _ in Operation() }
            // Finished dependencies are listed, but the operation does not wait for them.
            for other in others where random.happens(1, in: 4) { other.start() }
            var expected: [Operation] = []
            for _ in 0..<random.below(60) {
                let other = others[random.below(others.count)]
                if random.happens(2, in: 3) {
                    operation.addDependency(other)
                    if !expected.contains(other) { expected.append(other) }
                } else {
                    operation.removeDependency(other)
                    expected.removeAll { $0 == other }
                }
                guard operation.dependencies == expected else {
                    Issue.record("seed \(seed)")
                    return
                }
            }
            let unfinished = expected.count { !$0.isFinished }
            #expect(operation.status.unfinishedDependencies >= UInt64(unfinished), "seed \(seed)")
            for other in expected where !other.isFinished { other.start() }
            #expect(operation.isReady, "seed \(seed)")
        }
    }

    @Test(arguments: seeds(1, 2, 3))
    func repeatedDependenciesAreRemovedTogether(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let operation = Operation()
        let others = (0..<40).map { _ in Operation() }
        for _ in 0..<3 {
            for other in others.shuffled(using: &random) { operation.addDependency(other) }
        }
        #expect(operation.status.unfinishedDependencies == 120)
        var left = operation.dependencies
        for other in others.shuffled(using: &random) {
            operation.removeDependency(other)
            operation.removeDependency(other)
            left.removeAll { $0 == other }
            #expect(operation.dependencies == left, "seed \(seed)")
            #expect(operation.status.unfinishedDependencies == UInt64(3 * left.count))
        }
        #expect(operation.isReady)
        // Edges that are added now take the places of the removed ones, in their order.
        for other in others { operation.addDependency(other) }
        #expect(operation.dependencies == others)
    }

    @Test func refusedEdgeLeavesEarlierEdgesToTheSameOperation() {
        let (a, b, c) = (Operation(), Operation(), Operation())
        a.addDependency(b)
        a.addDependency(c)
        a.removeDependency(c)
        a.addDependency(c)
        a.addDependency(b)
        #expect(throws: OperationMisuse.self) { try b.addDependencyChecked(a) }
        #expect(a.dependencies == [b, c])
        #expect(b.dependencies.isEmpty)
        a.removeDependency(b)
        #expect(a.dependencies == [c])
        #expect(a.status.unfinishedDependencies == 1)
    }

    @Test func replacingDependencyRepeatedlyDoesNotGrowMemory() throws {
        let (operation, first, last) = (Operation(), Operation(), Operation())
        operation.addDependency(first)
        operation.addDependency(last)
        var replaced = last
        for _ in 0..<10_000 {
            let next = Operation()
            operation.addDependency(next)
            operation.removeDependency(replaced)
            replaced = next
        }
        #expect(operation.dependencies == [first, replaced])
        let pointer = operation.edges.load(ordering: .relaxed)
        let edges = try #require(pointer)
        var entries = 0
        Edges.forEach(edges) { _ in entries += 1 }
        #expect(entries <= 8)
    }
}
