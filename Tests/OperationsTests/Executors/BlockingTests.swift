import OperationsRuntime
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// Blocks each caller until a number of callers have come.
final class Meeting: Sendable {
    private let expected: Int
    private let arrived = Tally()
    private let isComplete = Latch()

    init(of expected: Int) { self.expected = expected }

    /// Blocks until all have come. The library does not know that this call blocks.
    func attend() {
        if arrived.increment() == expected { isComplete.open() }
        isComplete.wait()
    }
}

enum Spot {
    @TaskLocal static var name = "outside"
}

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct BlockingTests {
    struct Failure: Error, Equatable {}

    @Test func manyFunctionsBlockAtTheSameTime() async throws {
        // As many threads of Swift's own pool would be needed.
        let meeting = Meeting(of: 64)
        await withTaskGroup { group in
            for _ in 0..<64 { group.addTask { await blocking { meeting.attend() } } }
        }
    }

    /// More than there may be threads: the rest waits for a thread, which is reported, and gets
    /// one.
    @Test func tenThousandBlockedTasks() async {
        await #expect(processExitsWith: .success) {
            let (findings, release) = (Tally(), Latch())
            OperationsDiagnostics.handler = { finding in
                guard case .allThreadsBlocked(let threads, let waiting) = finding else { return }
                precondition(threads > 0 && waiting > 9_000)
                findings.increment()
                release.open()
            }
            let ran = Tally()
            await withTaskGroup { group in
                for _ in 0..<10_000 {
                    group.addTask {
                        await blocking {
                            release.wait()
                            ran.increment()
                        }
                    }
                }
            }
            precondition(ran.value == 10_000 && findings.value == 1)
        }
    }

    @Test func runsOnWorkerAsPartOfTheTask() async throws {
        let task = Task.detached(priority: .utility) {
            await Spot.$name.withValue("inside") {
                await blocking { (isOnWorker, Spot.name, Task.basePriority) }
            }
        }
        let (isWorker, name, priority) = await task.value
        #expect(isWorker && name == "inside" && priority == .utility)
    }

    @Test func throwsTheErrorOfTheFunction() async {
        await #expect(throws: Failure()) {
            try await blocking { () throws(Failure) in throw Failure() }
        }
    }

    @Test func cancellingTheTaskIsSeenInTheFunction() async {
        let (began, isCancelled) = (Signal(), Signal())
        let task = Task {
            await blocking {
                began.send()
                isCancelled.wait()
                return (Task.isCancelled, Operation.isCancelled)
            }
        }
        #expect(await began.arrives())
        task.cancel()
        isCancelled.send()
        let seen = await task.value
        #expect(seen == (true, true))
    }

    @Test func runsInPlaceInsideAnOperation() async throws {
        let queue = OperationQueue(width: 1)
        let names = queue.add("outer") {
            let before = Operation.current?.name
            return (before, await blocking { Operation.current?.name })
        }
        let (before, inside) = try await names.value
        #expect(before == "outer" && inside == "outer")
    }

    @Test func returnsToTheMainActor() async {
        await onMainActor()
    }

    @MainActor private func onMainActor() async {
        let text = Text()
        let isWorker = await blocking { isOnWorker }
        MainActor.assertIsolated()
        text.value += "after"
        #expect(isWorker && text.value == "after")
    }

    private final class Text { var value = "" }

    /// A value that is not sendable can be handed in and out.
    @Test func passesValuesThatAreNotSendable() async {
        let text = await blocking {
            let text = Text()
            text.value = "made"
            return text
        }
        #expect(text.value == "made")
    }

    @Test func taskOnWorkersMayBlock() async {
        let meeting = Meeting(of: 32)
        let tasks = (0..<32).map { _ in
            Task(executorPreference: .operations) {
                meeting.attend()
                await Task.yield()
                return isOnWorker
            }
        }
        for task in tasks { #expect(await task.value) }
    }

    /// A hop to the executor on which the task is already must not go through the pool.
    @Test func functionsOfTheTaskStayOnTheWorker() async {
        let task = Task(executorPreference: .operations) {
            let before = ThreadContext.current
            let same = await blocking { ThreadContext.current === before }
            return same
        }
        #expect(await task.value)
    }
}
