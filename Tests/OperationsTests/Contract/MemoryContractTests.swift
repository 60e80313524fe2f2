import Operations
import OperationsRuntime
import OperationsTestSupport
import Testing

/// Retaining and releasing: rows O15, P6, B3 and B19.
///
/// The tests use threads with small stacks, so that recursion over a graph ends the process.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(5)))
struct MemoryContractTests {
    private static let smallStack = 256 * 1024

    /// Increments a tally when it is released.
    private final class Counted: Operation, @unchecked Sendable {
        let releases: Tally
        init(_ releases: Tally) { self.releases = releases }
        deinit { releases.increment() }
    }

    @Test("P6: releasing a chain of a million finished operations does not overflow the stack")
    func releasingAFinishedChainDoesNotOverflowTheStack() async {
        let releases = Tally()
        let length = 1_000_000 / chainSlowness
        await onThread(stackSize: Self.smallStack) {
            var operations: [Operation] = []
            for _ in 0..<length {
                let next = Counted(releases)
                if let last = operations.last { next.addDependency(last) }
                operations.append(next)
            }
            for operation in operations { operation.start() }
            let last = operations.last
            operations = []
            withExtendedLifetime(last) {}
        }
        #expect(releases.value == length)
    }

    @Test(
        "P6: releasing a chain of a million operations that never ran does not overflow the stack")
    func releasingAnUnstartedChainDoesNotOverflowTheStack() async {
        let releases = Tally()
        let length = 1_000_000 / chainSlowness
        await onThread(stackSize: Self.smallStack) {
            var last = Counted(releases)
            for _ in 1..<length {
                let next = Counted(releases)
                next.addDependency(last)
                last = next
            }
        }
        #expect(releases.value == length)
    }

    @Test(
        "P6: a graph of a million operations with random edges is released",
        arguments: contractSeeds.suffix(1))
    func randomGraphIsReleased(seed: UInt64) async {
        let releases = Tally()
        let count = 1_000_000 / slowness
        await onThread(stackSize: Self.smallStack) {
            var random = SplitMix64(seed: seed)
            var operations: [Operation] = []
            operations.reserveCapacity(count)
            for index in 0..<count {
                let operation = Counted(releases)
                if index > 0 {
                    // Near dependencies make the graph deep, and far ones make it wide.
                    operation.addDependency(operations[index - 1 - Int(random.next() % 8) % index])
                    operation.addDependency(operations[Int(random.next() % UInt64(index))])
                }
                operations.append(operation)
            }
        }
        #expect(releases.value == count, "seed \(seed)")
    }

    @Test("P6: a graph that ran in a queue is released with its completion blocks and closures")
    func graphThatRanIsReleasedWithItsClosures() async {
        let releases = Tally()
        let count = 100_000 / slowness
        do {
            let queue = OperationQueue()
            var operations: [Operation] = []
            for index in 0..<count {
                let token = Token(releases)
                let operation = BlockOperation { withExtendedLifetime(token) {} }
                if index > 0 { operation.addDependency(operations[index / 2]) }
                operation.completionBlock = { withExtendedLifetime(operation) {} }
                operations.append(operation)
            }
            await queue.addOperations(operations, waitUntilFinished: true)
        }
        #expect(await comesTrue { releases.value == count })
    }

    @Test("P6: an endless chain releases its early operations while it runs")
    func endlessChainReleasesItsEarlyOperations() async {
        let releases = Tally()
        let length = 200_000 / slowness
        let queue = OperationQueue()
        var previous = Counted(releases)
        weak let first = previous
        queue.addOperation(previous)
        for index in 1..<length {
            let next = Counted(releases)
            next.addDependency(previous)
            queue.addOperation(next)
            previous = next
            if index % 1_000 == 0 { await next.waitUntilFinished() }
        }
        await queue.drain()
        #expect(await comesTrue { first == nil })
        // Dependents retain the last operations, and a worker may not have released all of its
        // claim yet.
        #expect(await comesTrue { releases.value >= length - 10 })
        #expect(previous.isFinished && previous.dependencies.count == 1)
    }

    @Test("O15: an operation that has just finished still has the dependencies to read inputs from")
    func finishedOperationRetainsItsDependencies() async {
        let queue = OperationQueue()
        let releases = Tally()
        let operation = Operation()
        do {
            let inputs = (0..<3).map { _ in Counted(releases) }
            for input in inputs { operation.addDependency(input) }
            await queue.addOperations(inputs, waitUntilFinished: true)
        }
        queue.addOperation(operation)
        await queue.drain()
        #expect(operation.dependencies.count == 3)
        let areFinished = operation.dependencies.allSatisfy(\.isFinished)
        #expect(areFinished)
        #expect(releases.value == 0)
    }

    @Test(
        "B3: a completion block that captures its own operation retains nothing, cancelled or not")
    func completionBlockThatCapturesItsOperationIsReleased() async {
        let releases = Tally()
        do {
            let queue = OperationQueue()
            let operations = (0..<100).map { _ in Counted(releases) }
            for operation in operations {
                operation.completionBlock = { withExtendedLifetime(operation) {} }
            }
            for operation in operations.prefix(50) { operation.cancel() }
            await queue.addOperations(operations, waitUntilFinished: true)
        }
        #expect(await comesTrue { releases.value == 100 })
    }

    @Test("B19: a cycle is released once a member is cancelled and the queue has drained")
    func brokenCycleIsReleased() async {
        // This test runs in a process of its own, because one handler receives all findings.
        await #expect(processExitsWith: .success) {
            OperationsDiagnostics.handler = { _ in }
            let releases = Tally()
            do {
                let queue = OperationQueue()
                let operations = (0..<3).map { _ in
                    let token = Token(releases)
                    return BlockOperation { withExtendedLifetime(token) {} }
                }
                for index in operations.indices {
                    operations[index].addDependency(operations[(index + 1) % 3])
                }
                await queue.addOperations(operations, waitUntilFinished: false)
                operations[0].cancel()
                await queue.drain()
            }
            #expect(await comesTrue { releases.value == 3 })
        }
    }

    @Test(
        "P6: finished operations are released while their worker runs a long operation",
        arguments: [false, true])
    func longOperationRetainsNoFinishedOperations(isChain: Bool) async {
        let queue = serialQueue()
        // These make the queue measure short operations, so that a worker claims several at once.
        for _ in 0..<1_000 { queue.addOperation {} }
        await queue.drain()
        queue.isSuspended = true
        let (releases, began, proceed) = (Tally(), Signal(), Signal())
        var last: Operation?
        for _ in 0..<10 {
            let token = Token(releases)
            let operation = BlockOperation { withExtendedLifetime(token) {} }
            if isChain, let last { operation.addDependency(last) }
            last = operation
            queue.addOperation(operation)
        }
        let long = BlockOperation {
            began.send()
            proceed.wait()
        }
        if isChain, let last { long.addDependency(last) }
        last = nil
        queue.addOperation(long)
        queue.isSuspended = false
        await onThread { _ = began.wait() }
        // The long operation retains its dependency, which retains the dependency before it. The
        // worker retains the last operation that it ran.
        let retained = isChain ? 2 : 1
        #expect(await comesTrue { releases.value >= 10 - retained })
        proceed.send()
        await queue.drain()
    }
}
