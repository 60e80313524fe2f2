import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct MainActorBodyTests {
    @Test func addOperationAcceptsAMainActorBlock() async {
        let queue = OperationQueue()
        let onMainActor = Tally()
        queue.addOperation { @MainActor in
            MainActor.assertIsolated()
            onMainActor.increment()
        }
        await queue.drain()
        #expect(onMainActor.value == 1)
    }

    @Test func addAcceptsAMainActorBodyThatReturnsOrThrows() async throws {
        let queue = OperationQueue()
        let name = queue.add("name", .retry(1)) { @MainActor in
            MainActor.assertIsolated()
            return Operation.current?.name ?? "none"
        }
        #expect(try await name.value == "name")
        let failing = queue.add(.priority(.high)) { @MainActor in throw Broken() }
        await #expect(throws: Broken.self) { try await failing.value }
    }

    @Test func mainActorBodyReceivesTheResultsOfOthers() async throws {
        let queue = OperationQueue()
        let (number, word) = (queue.add { 3 }, queue.add { "three" })
        let shown = queue.add("show", after: number, word) { @MainActor number, word in
            MainActor.assertIsolated()
            return "\(number) \(word)"
        }
        #expect(try await shown.value == "3 three")
        let again = queue.add(.priority(.high), after: number) { @MainActor number in number + 1 }
        #expect(try await again.value == 4)
    }

    @Test func bodiesAfterListsAndWithinCapacitiesMayBeOfTheMainActor() async throws {
        let queue = OperationQueue()
        let numbers = (0..<3).map { number in queue.add { number } }
        let block = BlockOperation {}
        queue.addOperation(block)
        let sums = [
            queue.add(after: numbers) { @MainActor numbers in
                MainActor.assertIsolated()
                return numbers.reduce(0, +)
            },
            queue.add(after: block) { @MainActor in
                MainActor.assertIsolated()
                return 4
            },
            queue.add("list", after: [block]) { @MainActor in
                MainActor.assertIsolated()
                return 5
            },
            try await queue.add(capacity: 100) { @MainActor in
                MainActor.assertIsolated()
                return 6
            },
        ]
        #expect(try await sums.values() == [3, 4, 5, 6])
        let shared = try await queue.sharedValue(by: 1) { @MainActor in
            MainActor.assertIsolated()
            return 7
        }
        #expect(shared == 7)
    }

    /// For a closure of no actor the compiler chooses the method of the class.
    @Test func closuresOfNoActorAfterOthersRunOnWorkers() async throws {
        let queue = OperationQueue()
        let number = queue.add { 1 }
        let isOnWorker: @Sendable () -> Bool = { ThreadContext.current.activeWorker != nil }
        let first = queue.add(after: number) { isOnWorker() }
        let second = queue.add(after: number, on: .always) { isOnWorker() }
        let third = queue.add(after: [number as Operation]) { isOnWorker() }
        let fourth = queue.add(after: [number]) { _ in isOnWorker() }
        let fifth = queue.add(after: number) { _ in isOnWorker() }
        let sixth = try await queue.add(capacity: 100) { isOnWorker() }
        for operation in [first, second, third, fourth, fifth, sixth] {
            #expect(try await operation.value)
        }
    }

    @Test func barrierBlockOfTheMainActorRunsAlone() async {
        let queue = OperationQueue()
        let runs = Locked<[Int]>([])
        for _ in 0..<4 { queue.addOperation { runs.withLock { $0.append(1) } } }
        queue.addBarrierBlock { @MainActor in
            MainActor.assertIsolated()
            runs.withLock { $0.append(2) }
        }
        for _ in 0..<4 { queue.addOperation { runs.withLock { $0.append(3) } } }
        await queue.finished()
        #expect(runs.withLock { $0 } == [1, 1, 1, 1, 2, 3, 3, 3, 3])
    }

    @Test func cancelHandlerMayBeOfTheMainActor() async {
        let operation = BlockOperation {}
        await confirmation { handled in
            await withCheckedContinuation { done in
                operation.onCancel { @MainActor in
                    MainActor.assertIsolated()
                    handled()
                    done.resume()
                }
                operation.cancel()
            }
        }
    }

    @Test func plainClosuresAddedOnTheMainActorRunOnWorkers() async throws {
        let queue = OperationQueue()
        let isOnMain = try await MainActor.run {
            [queue.add { MainThread.isCurrent }, queue.add { () async in MainThread.isCurrent }]
        }.values()
        #expect(isOnMain == [false, false])
        let blocks = Tally()
        await MainActor.run {
            queue.addOperation { if MainThread.isCurrent { blocks.increment() } }
        }
        await queue.drain()
        #expect(blocks.value == 0)
    }

    @Test func mainActorOperationKeepsItsSlotUntilItsBodyHasRun() async throws {
        let queue = serialQueue()
        let first = queue.add { @MainActor in Operation.current?.isExecuting }
        let second = queue.add { first.isFinished }
        #expect(try await first.value == true)
        #expect(try await second.value)
    }

    @Test func mainActorBlockGetsTheQueuesQualityOfService() async throws {
        let queue = OperationQueue()
        queue.qualityOfService = .utility
        queue.isSuspended = true
        queue.addOperation { @MainActor in }
        #expect(queue.operations.map(\.qualityOfService) == [.utility])
        queue.isSuspended = false
        await queue.drain()
    }
}

private struct Broken: Error {}
