import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import Operations

private struct Broken: Error {}

/// What failures do to scopes, and who handles them.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct FailurePolicyTests {
    /// The failure comes before, while or after the handler is added.
    @Test func handlerInTheNextLineIsNeverTooLate() async throws {
        for round in 0..<300 {
            let errors = Locked<[String]>([])
            try await withOperationQueue { queue in
                let page = queue.add("page") { () throws -> Int in throw NoConnection() }
                for _ in 0..<round % 4 { await Task.yield() }
                queue.add(onFailureOf: page) { error in
                    errors.withLock { $0.append("\(error)") }
                }
            }
            #expect(errors.withLock { $0 } == ["no connection"])
        }
    }

    @Test func handlerMayFollowAFailureThatHasEnded() async throws {
        try await withOperationQueue { queue in
            let page = queue.add { () throws -> Int in throw NoConnection() }
            #expect(await comesTrue { page.isFinished })
            let text = queue.add(onFailureOf: page) { error in "\(error)" }
            let value = try await text.value
            #expect(value == "no connection")
        }
    }

    /// The handler depends on an operation that the failure cancels, and is added after that.
    @Test func handlerOfAConsequenceIsNeverTooLate() async throws {
        for round in 0..<300 {
            let handler = try await withOperationQueue { queue in
                let page = queue.add { () throws -> Int in throw NoConnection() }
                let parsed = queue.add(after: page) { $0 }
                let stored = queue.add(after: parsed) { $0 }
                for _ in 0..<round % 4 { await Task.yield() }
                return queue.add(onFailureOf: stored) { error in "\(error)" }
            }
            #expect(try handler.result == "no connection")
        }
    }

    @Test func failureWithoutHandlerEndsTheScopeWhenTheBodyReturns() async {
        let later = Locked<[TypedOperation<Void>]>([])
        await #expect(throws: NoConnection.self) {
            try await withOperationQueue { queue in
                let page = queue.add { () throws -> Int in throw NoConnection() }
                #expect(await comesTrue { page.isFinished })
                later.withLock { $0.append(queue.add { try await untilCancelled() }) }
            }
        }
        #expect(later.withLock { $0.first?.isCancelled } == true)
    }

    enum Wait: CaseIterable { case value, finished, timeout, queue, capacity, shared }

    /// A body that waits adds no handler, so a failure during the wait ends the scope.
    @Test(arguments: Wait.allCases)
    func failureEndsTheWaitOfTheBody(_ wait: Wait) async {
        await #expect(throws: NoConnection.self) {
            try await withOperationQueue { queue in
                let (other, proceed) = (queue.add { try await untilCancelled() }, AsyncGate())
                queue.add("late") {
                    try await proceed.wait()
                    throw NoConnection()
                }
                queue.add { proceed.open() }
                switch wait {
                case .value: try await other.value
                case .finished: await other.finished()
                case .timeout: _ = await other.finished(within: .seconds(3600))
                case .queue: await queue.finished()
                case .capacity: _ = try await queue.add(capacity: 1) {}
                case .shared: _ = try await queue.sharedValue(by: 1) { try await untilCancelled() }
                }
                if case .value = wait { Issue.record("the value of a cancelled operation") }
            }
        }
    }

    /// A wait counts as one, whether the operation has finished before or not.
    @Test(arguments: [false, true])
    func waitForAFailureDecidesIt(hasFinished: Bool) async {
        for kind in 0..<4 {
            let late = Locked<Operation?>(nil)
            await #expect(throws: NoConnection.self) {
                try await withOperationQueue { queue in
                    let page = queue.add { () throws -> Int in throw NoConnection() }
                    let parsed = queue.add(after: page) { $0 }
                    if hasFinished { #expect(await comesTrue { parsed.isFinished }) }
                    switch kind {
                    case 0: await page.finished()
                    case 1: _ = await page.finished(within: .seconds(60))
                    case 2: _ = try? await page.value
                    default: _ = try? await parsed.value
                    }
                    late.replace(with: queue.add { try await untilCancelled() })
                    await queue.finished()
                }
            }
            #expect(late.withLock { $0?.isCancelled } == true)
        }
    }

    @Test func operationThatMayFailEndsNoScope() async throws {
        let (end, reason) = try await withOperationQueue { queue in
            let page = queue.add("page", .mayFail) { () throws -> Int in throw NoConnection() }
            let parsed = queue.add(after: page) { $0 }
            let end = queue.add(after: page, on: .always) { "ended" }
            return (try await end.value, parsed)
        }
        #expect(end == "ended")
        #expect(reason.isCancelled)
    }

    @Test func collectingScopeThrowsAllFailures() async throws {
        let ended = Tally()
        let collected = await #expect(throws: CollectedErrors.self) {
            try await withOperationQueue(width: 1, onFailure: .collect) { queue in
                for number in 0..<6 {
                    let step = queue.add("step \(number)") {
                        ended.increment()
                        if number % 2 == 1 { throw NoConnection() }
                    }
                    if number == 3 { queue.add(onFailureOf: step) { _ in } }
                    if number == 5 { queue.add(after: step) {} }
                }
                queue.add("expected", .mayFail) { throw Broken() }
                await queue.finished()
            }
        }
        #expect(ended.value == 6)
        #expect(
            collected?.description == """
                2 operations failed:
                  'step 1' failed: no connection
                  'step 5' failed: no connection
                """)
    }

    @Test func collectingScopeWithoutFailureReturns() async throws {
        let value = try await withOperationQueue(onFailure: .collect) { queue in
            let failing = queue.add { throw NoConnection() }
            queue.add(onFailureOf: failing) { _ in }
            return 3
        }
        #expect(value == 3)
        let alone = await #expect(throws: CollectedErrors.self) {
            try await withOperationQueue(onFailure: .collect) { queue in
                _ = queue.add("only") { throw NoConnection() }
            }
        }
        #expect(alone?.description == "'only' failed: no connection")
    }

    @Test func errorOfTheBodyPrecedesCollectedOnes() async {
        await #expect(throws: Broken.self) {
            try await withOperationQueue(onFailure: .collect) { queue in
                queue.add { throw NoConnection() }
                throw Broken()
            }
        }
    }

    @Test func handlersOutsideScopesGetTheError() async throws {
        let queue = OperationQueue()
        final class Reporting: Operation, @unchecked Sendable {
            override func main() { fail(NoConnection()) }
        }
        let (failing, succeeding) = (Reporting(), BlockOperation {})
        let texts = [
            queue.add("named", onFailureOf: failing) { error in "\(error)" },
            queue.add(.priority(.high), onFailureOf: failing) { error async in "\(error)" },
            queue.add(onFailureOf: failing) { @MainActor error in
                MainActor.assertIsolated()
                return "\(error)"
            },
            queue.add(after: failing, on: .failure) { "ran" },
            queue.add(after: [failing, succeeding], on: .always) { () async in "ran" },
        ]
        let unused = queue.add(onFailureOf: succeeding) { _ in }
        await queue.addOperations([failing, succeeding], waitUntilFinished: false)
        #expect(
            try await texts.values()
                == ["no connection", "no connection", "no connection", "ran", "ran"])
        await unused.finished()
        #expect(unused.isCancelled)
        let late = queue.add(onFailureOf: failing) { error in "\(error)" }
        #expect(try await late.value == "no connection")
    }
}
