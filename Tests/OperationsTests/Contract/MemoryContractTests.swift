import Operations
import TestSupport
import Testing

/// What is kept and what is let go of: rows O15, P6, B3, B19.
///
/// Stacks are small here, so that any recursion over a graph ends the process.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(5)))
struct MemoryContractTests {
    private static let smallStack = 256 * 1024

    /// Counts its own end.
    private final class Counted: Operation, @unchecked Sendable {
        let gone: Tally
        init(_ gone: Tally) { self.gone = gone }
        deinit { gone.increment() }
    }

    @Test("P6: releasing a chain of a million finished operations does not overflow the stack")
    func releasingAFinishedChain() async {
        let gone = Tally()
        let length = 1_000_000 / slowness
        await onThread(stackSize: Self.smallStack) {
            var operations: [Operation] = []
            for _ in 0..<length {
                let next = Counted(gone)
                if let last = operations.last { next.addDependency(last) }
                operations.append(next)
            }
            for operation in operations { operation.start() }
            let last = operations.last
            operations = []
            withExtendedLifetime(last) {}
        }
        #expect(gone.value == length)
    }

    @Test(
        "P6: releasing a chain of a million operations that never ran does not overflow the stack")
    func releasingAnUnfinishedChain() async {
        let gone = Tally()
        let length = 1_000_000 / slowness
        await onThread(stackSize: Self.smallStack) {
            var last = Counted(gone)
            for _ in 1..<length {
                let next = Counted(gone)
                next.addDependency(last)
                last = next
            }
        }
        #expect(gone.value == length)
    }

    @Test(
        "P6: a graph of a million operations with random edges is released",
        arguments: contractSeeds.suffix(1))
    func releasingAGraph(seed: UInt64) async {
        let gone = Tally()
        let count = 1_000_000 / slowness
        await onThread(stackSize: Self.smallStack) {
            var random = SeededGenerator(state: seed)
            var operations: [Operation] = []
            operations.reserveCapacity(count)
            for index in 0..<count {
                let operation = Counted(gone)
                if index > 0 {
                    // Near ones make it deep, far ones wide.
                    operation.addDependency(operations[index - 1 - Int(random.next() % 8) % index])
                    operation.addDependency(operations[Int(random.next() % UInt64(index))])
                }
                operations.append(operation)
            }
        }
        #expect(gone.value == count, "seed \(seed)")
    }

    @Test("P6: a graph that ran in a queue is released, completion blocks and closures included")
    func releasingAGraphThatRan() async {
        let gone = Tally()
        let count = 100_000 / slowness
        do {
            let queue = OperationQueue()
            var operations: [Operation] = []
            for index in 0..<count {
                let token = Token(gone)
                let operation = BlockOperation { withExtendedLifetime(token) {} }
                if index > 0 { operation.addDependency(operations[index / 2]) }
                operation.completionBlock = { withExtendedLifetime(operation) {} }
                operations.append(operation)
            }
            await queue.addOperations(operations, waitUntilFinished: true)
        }
        #expect(await comesTrue { gone.value == count })
    }

    @Test("P6: in a chain that goes on for ever early operations are freed while it goes on")
    func aRollingChainDoesNotGrow() async {
        let gone = Tally()
        let length = 200_000 / slowness
        let queue = OperationQueue()
        var previous = Counted(gone)
        weak let first = previous
        queue.addOperation(previous)
        for index in 1..<length {
            let next = Counted(gone)
            next.addDependency(previous)
            queue.addOperation(next)
            previous = next
            if index % 1_000 == 0 { await next.waitUntilFinished() }
        }
        await queue.drain()
        #expect(await comesTrue { first == nil })
        // The last operations are kept for their dependents, and a worker may not have released
        // all of its batch yet.
        #expect(await comesTrue { gone.value >= length - 10 })
        #expect(previous.isFinished && previous.dependencies.count == 1)
    }

    @Test("O15: the dependencies of one that has just finished are there to fetch inputs from")
    func inputsAreThereToFetch() async {
        let queue = OperationQueue()
        let gone = Tally()
        let operation = Operation()
        do {
            let inputs = (0..<3).map { _ in Counted(gone) }
            for input in inputs { operation.addDependency(input) }
            await queue.addOperations(inputs, waitUntilFinished: true)
        }
        queue.addOperation(operation)
        await queue.drain()
        #expect(operation.dependencies.count == 3)
        let areFinished = operation.dependencies.allSatisfy(\.isFinished)
        #expect(areFinished)
        #expect(gone.value == 0)
    }

    @Test(
        "B3: a completion block that holds its own operation keeps nothing alive, cancelled or not")
    func aCompletionBlockThatHoldsItsOperation() async {
        let gone = Tally()
        do {
            let queue = OperationQueue()
            let operations = (0..<100).map { _ in Counted(gone) }
            for operation in operations {
                operation.completionBlock = { withExtendedLifetime(operation) {} }
            }
            for operation in operations.prefix(50) { operation.cancel() }
            await queue.addOperations(operations, waitUntilFinished: true)
        }
        #expect(await comesTrue { gone.value == 100 })
    }

    @Test("B19: a cycle is freed once a member was cancelled and the queue has drained")
    func aBrokenCycleIsFreed() async {
        // In a process of its own: the finding goes to one handler for all.
        await #expect(processExitsWith: .success) {
            OperationsDiagnostics.handler = { _ in }
            let gone = Tally()
            do {
                let queue = OperationQueue()
                let operations = (0..<3).map { _ in
                    let token = Token(gone)
                    return BlockOperation { withExtendedLifetime(token) {} }
                }
                for index in operations.indices {
                    operations[index].addDependency(operations[(index + 1) % 3])
                }
                await queue.addOperations(operations, waitUntilFinished: false)
                operations[0].cancel()
                await queue.drain()
            }
            #expect(await comesTrue { gone.value == 3 })
        }
    }

    @Test(
        "P6: what has finished is freed although the worker that ran it goes on with something long",
        arguments: [false, true])
    func nothingIsKeptBehindALongOperation(isChain: Bool) async {
        let queue = serialQueue()
        // So that it takes several at a time.
        for _ in 0..<1_000 { queue.addOperation {} }
        await queue.drain()
        queue.isSuspended = true
        let (gone, began, goOn) = (Tally(), Signal(), Signal())
        var last: Operation?
        for _ in 0..<10 {
            let token = Token(gone)
            let operation = BlockOperation { withExtendedLifetime(token) {} }
            if isChain, let last { operation.addDependency(last) }
            last = operation
            queue.addOperation(operation)
        }
        let long = BlockOperation {
            began.send()
            goOn.wait()
        }
        if isChain, let last { long.addDependency(last) }
        last = nil
        queue.addOperation(long)
        queue.isSuspended = false
        await onThread { _ = began.wait() }
        // The long one keeps its dependency with that one's, and the worker the last one that it
        // ran.
        let kept = isChain ? 2 : 1
        #expect(await comesTrue { gone.value >= 10 - kept })
        goOn.send()
        await queue.drain()
    }
}
