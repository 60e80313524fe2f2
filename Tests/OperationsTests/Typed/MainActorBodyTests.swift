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
