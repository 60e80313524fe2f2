import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

private enum Local {
    @TaskLocal static var id = 0
}

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct TaskLocalValuesTests {
    /// There is no task in a block. `Task { }` copies the values there, and so does an async body.
    @Test(arguments: [nil, "named"])
    func asyncBodyHasTheValuesOfTheBlockThatAddsIt(_ name: String?) async {
        let queue = OperationQueue(name: "q", width: 2)
        let seen = TestRecorder<Int>()
        let trait = name.map { OperationTrait.name($0) }
        await queue.add {
            Local.$id.withValue(3) {
                let body: @Sendable () async -> Void = {
                    await Task.yield()
                    seen.record(Local.id)
                }
                if let trait { queue.add(trait, body: body) } else { queue.add(body: body) }
            }
            queue.addOperation { queue.add { seen.record(Local.id) } }
        }.finished()
        await queue.drain()
        #expect(seen.events.sorted() == [0, 3])
    }

    @Test func blockRunsWithTheValuesThatWereTaken() async {
        let operation = BlockOperation {}
        let values = Local.$id.withValue(7) { TaskLocalValues(for: operation) }
        let queue = OperationQueue()
        let seen = TestRecorder<Int>()
        let current = TestRecorder<String?>()
        await queue.add("runs") {
            values.run {
                seen.record(Local.id)
                current.record(Operation.current?.name)
            }
            // Each body runs once, and another one on this thread is no copy.
            values.run { seen.record(Local.id) }
            seen.record(Local.id)
        }.finished()
        #expect(seen.events == [7, 0, 0])
        #expect(current.events == ["runs"])
        // Outside of workers code runs as it is.
        let others = Local.$id.withValue(7) { TaskLocalValues(for: operation) }
        Thread.detached { others.run { seen.record(Local.id) } }
        #expect(seen.events.last == 0)
    }

    @Test func valuesOfARepeatedOperationAreThereEachTime() async {
        let operation = Operation()
        let values = Local.$id.withValue(7) { TaskLocalValues(for: operation) }
        let seen = TestRecorder<Int>()
        let queue = OperationQueue()
        for _ in 0..<3 {
            await queue.add {
                values.run {
                    values.run { seen.record(Local.id) }
                    seen.record(Local.id)
                }
            }.finished()
        }
        #expect(seen.events == [7, 7, 7, 7, 7, 7])
    }

    @Test func taskOfValuesThatNobodyUsesEnds() async {
        final class Token: Sendable {}
        enum Held { @TaskLocal static var token: Token? }
        weak var gone: Token?
        do {
            let token = Token()
            gone = token
            Held.$token.withValue(token) {
                _ = TaskLocalValues(for: BlockOperation {})
            }
        }
        #expect(await comesTrue { gone == nil }, "the task has released its values")
    }
}

/// Runs code on a thread that is no worker, and waits for it.
private enum Thread {
    static func detached(_ body: @escaping @Sendable () -> Void) {
        let ended = Signal()
        startTestThread {
            body()
            ended.send()
        }
        ended.wait()
    }
}
