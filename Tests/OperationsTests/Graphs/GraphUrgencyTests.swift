import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// Nodes that run as blocks, beside operations of other urgencies.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct GraphUrgencyTests {
    private let ran = TestRecorder<String>()

    private func block(_ name: String) -> @Sendable () -> Void {
        { [ran] in ran.record(name) }
    }

    /// A worker that comes for the nodes may not take the operation. If the nodes gave way to it,
    /// the workers would spin for ever.
    @Test(arguments: [QualityOfService.utility, .background, .userInitiated])
    func nodesGiveWayOnlyToWhatTheirWorkerMayTake(quality: QualityOfService) async throws {
        let queue = OperationQueue(width: 1)
        let important = BlockOperation(block: block("important"))
        important.queuePriority = .high
        important.qualityOfService = quality
        var graph = BlockGraph("tiles")
        graph.add("first") { [ran] in
            ran.record("first")
            queue.addOperation(important)
        }
        graph.add("second", body: block("second"))
        graph.add("third", body: block("third"))
        let run = try queue.add(graph, .qualityOfService(.userInitiated))
        try #require(await comesTrue { run.isFinished && important.isFinished })
        if quality == .userInitiated {
            #expect(ran.events == ["first", "important", "second", "third"])
        } else {
            #expect(ran.events == ["first", "second", "third", "important"])
        }
        await queue.drain()
    }

    @Test func nodesGiveWayToNoPieceOfATaskThatIsLessUrgent() async throws {
        let queue = OperationQueue(width: 1)
        var graph = BlockGraph("tiles")
        graph.add("first") { [ran] in
            Task(executorPreference: queue.executor, priority: .high) { ran.record("piece") }
        }
        graph.add("second", body: block("second"))
        let run = try queue.add(graph, .qualityOfService(.userInteractive))
        try #require(await comesTrue { run.isFinished && ran.events.contains("piece") })
        #expect(ran.events == ["second", "piece"])
        await queue.drain()
    }
}
