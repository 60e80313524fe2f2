import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// With ``OperationsDiagnostics/MistakePolicy/report``, a mistake that can be refused is reported,
/// and the program goes on.
///
/// The policy holds for the whole process, so each test has a process of its own.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct MistakePolicyTests {
    /// Collects the mistakes that are reported in this process from now on.
    private final class Reports: Sendable {
        private let misuses = Mutex<[OperationMisuse]>([])

        init() {
            OperationsDiagnostics.mistakePolicy = .report
            OperationsDiagnostics.handler = { [self] finding in
                if case .misuse(let misuse) = finding { misuses.withLock { $0.append(misuse) } }
            }
        }

        var kinds: [OperationMisuse.Kind] { misuses.withLock { $0.map(\.kind) } }
        var last: String? { misuses.withLock { $0.last?.description } }
    }

    @Test func theUsualPolicyStops() {
        #expect(OperationsDiagnostics.mistakePolicy == .stop)
    }

    @Test func refusedCallsHaveNoEffect() async {
        await #expect(processExitsWith: .success) {
            let reports = Reports()
            let queue = OperationQueue(name: "work", width: 2)
            queue.isSuspended = true
            let operation = BlockOperation {}
            operation.name = "once"
            queue.addOperation(operation)
            queue.addOperation(operation)
            #expect(reports.kinds == [.inQueue])
            #expect(queue.operationCount == 1)
            #expect(!operation.isCancelled)

            operation.start()
            #expect(reports.kinds.last == .inQueue && !operation.isFinished)
            operation.addDependency(operation)
            #expect(reports.kinds.last == .selfDependency && operation.dependencies.isEmpty)
            operation.apply(.retry(2))
            #expect(reports.kinds.last == .traitsAppliedTooLate)
            queue.maxConcurrentOperationCount = -3
            #expect(reports.kinds.last == .invalidWidth(-3))
            #expect(queue.maxConcurrentOperationCount == 2)

            queue.isSuspended = false
            await queue.finished()
            operation.addExecutionBlock { Issue.record("a block that was refused has run") }
            #expect(reports.kinds.last == .blockAddedAfterStart)
            queue.addOperation(operation)
            #expect(reports.kinds.last == .alreadyFinished)
            #expect(reports.kinds.count == 7)
            await queue.finished()
        }
    }

    /// What no queue has ends, so that nothing waits for it for ever.
    @Test func anOperationThatCannotBeAddedEnds() async {
        await #expect(processExitsWith: .success) {
            let reports = Reports()
            let queue = OperationQueue(name: "work")
            let budget = ConcurrencyBudget(3, name: "licenses")
            let dear = queue.add("dear", .cost(5, of: budget)) { 1 }
            #expect(reports.kinds == [.costTooHigh(cost: 5, permits: 3)])
            let error = await #expect(throws: OperationMisuse.self) { try await dear.value }
            #expect(error?.description.contains("'dear' costs 5 of 'licenses'") == true)
            #expect(dear.isCancelled && dear.isFinished)

            let late = try await withOperationQueue { queue in queue }
            let lost = late.add("lost") { 2 }
            #expect(reports.kinds.last == .scopeEnded)
            await #expect(throws: OperationMisuse.self) { try await lost.value }
            #expect(queue.operationCount == 0 && late.operationCount == 0)
        }
    }

    /// Of an array with an operation that is elsewhere, nothing is left without an end.
    @Test func anArrayThatCannotBeAddedEnds() async {
        await #expect(processExitsWith: .success) {
            let reports = Reports()
            let (queue, other) = (OperationQueue(name: "a"), OperationQueue(name: "b"))
            other.isSuspended = true
            let operations = (0..<6).map { _ in BlockOperation {} }
            other.addOperation(operations[3])
            await queue.addOperations(operations, waitUntilFinished: false)
            #expect(reports.kinds == [.inQueue])
            await queue.finished()
            for (index, operation) in operations.enumerated() where index != 3 {
                await operation.finished()
            }
            #expect(!operations[3].isFinished && !operations[3].isCancelled)
            other.isSuspended = false
            await other.finished()
            #expect(operations[3].isFinished && !operations[3].isCancelled)
        }
    }

    @Test func aBlockedWaitThatCannotEndIsGivenUp() async {
        await #expect(processExitsWith: .success) {
            let reports = Reports()
            let queue = OperationQueue(name: "serial", width: 1)
            let inner = BlockOperation {}
            inner.name = "inner"
            let returned = Mutex(false)
            let outer = queue.add("outer") {
                queue.addOperation(inner)
                inner.waitUntilFinished()
                returned.withLock { $0 = true }
                #expect(Operation.current?.isCancelled == true)
                try Operation.checkCancellation()
                Issue.record("a wait that was given up was not followed by a cancellation")
            }
            let error = await #expect(throws: OperationMisuse.self) { try await outer.value }
            #expect(returned.withLock { $0 })
            #expect(error?.description.contains("'inner'") == true)
            #expect(reports.kinds == [.endlessWait])
            #expect(reports.last?.contains("none of them would ever finish") == true)
            await queue.finished()
            #expect(inner.isFinished && !inner.isCancelled)

            // Whoever waits for itself, or for its own queue.
            let own = queue.add("own") { queue.waitUntilAllOperationsAreFinished() }
            await own.finished()
            #expect(reports.kinds == [.endlessWait, .endlessWait])
            #expect(reports.last?.hasPrefix("'own'") == true)
        }
    }

    /// The circle is closed by a dependency, after the wait has begun.
    @Test func aWaitThatCannotEndAnyMoreIsGivenUp() async {
        await #expect(processExitsWith: .success) {
            let reports = Reports()
            let queue = OperationQueue(name: "queue", width: 4)
            let (began, target) = (Signal(), BlockOperation {})
            target.name = "target"
            let gate = BlockOperation {}
            target.addDependency(gate)
            queue.addOperation(target)
            let waiter = queue.add("waiter") { () throws in
                began.send()
                target.waitUntilFinished()
                try Operation.checkCancellation()
            }
            #expect(await began.arrives())
            target.addDependency(waiter)
            queue.addOperation(gate)
            await queue.finished()
            #expect(reports.kinds.contains(.endlessWait))
            #expect(waiter.isCancelled)
        }
    }

    @Test func anAwaitedValueThatCannotComeThrows() async {
        await #expect(processExitsWith: .success) {
            let reports = Reports()
            let queue = OperationQueue(name: "serial", width: 1)
            let outer = queue.add("outer") { () async throws -> Int in
                let inner = queue.add("inner") { 7 }
                do {
                    return try await inner.value
                } catch let misuse as OperationMisuse {
                    #expect(misuse.kind == .endlessWait)
                    // The body may go on, although it is cancelled.
                    return -1
                }
            }
            await outer.finished()
            #expect(reports.kinds == [.endlessWait])
            #expect(outer.isCancelled)
            await queue.finished()

            let loop = queue.add("loop") { () async in await queue.finished() }
            await loop.finished()
            #expect(reports.kinds.count == 2)
        }
    }

    /// What was given up is no success of its scope.
    @Test func aScopeEndsWithTheMistake() async {
        await #expect(processExitsWith: .success) {
            let reports = Reports()
            let error = await #expect(throws: OperationMisuse.self) {
                try await withOperationQueue { queue in
                    queue.add("in") { () async in await Operation.current?.finished() }
                }
            }
            #expect(error?.kind == .endlessWait)
            #expect(reports.kinds == [.endlessWait])
        }
    }

    @Test func aKeyWithAnotherTypeOfResultIsNotJoined() async {
        await #expect(processExitsWith: .success) {
            let reports = Reports()
            let queue = OperationQueue(name: "work")
            queue.isSuspended = true
            let number = queue.add("number", .deduplicated(by: 1)) { 1 }
            let text = queue.add("text", .deduplicated(by: 1)) { "one" }
            #expect(reports.kinds == [.otherResultType])
            queue.isSuspended = false
            let value = try? await number.value
            #expect(value == 1)
            let error = await #expect(throws: OperationCancellation.self) { try await text.value }
            #expect(error?.description.contains("does the same already") == true)
        }
    }

    @Test func sharedWorkWithAnotherTypeOfResultThrows() async {
        await #expect(processExitsWith: .success) {
            let reports = Reports()
            let queue = OperationQueue(name: "work")
            let (began, proceed) = (Signal(), Signal())
            let first = Task {
                try await queue.sharedValue(by: "k") { () -> Int in
                    began.send()
                    proceed.wait()
                    return 1
                }
            }
            #expect(await began.arrives())
            await #expect(throws: OperationMisuse.self) {
                try await queue.sharedValue(by: "k") { "one" }
            }
            #expect(reports.kinds == [.otherResultType])
            proceed.send()
            let value = try? await first.value
            #expect(value == 1)
        }
    }

    /// A wait for room that can never come.
    @Test func aWaitForRoomThatCannotComeThrows() async {
        await #expect(processExitsWith: .success) {
            let reports = Reports()
            let queue = OperationQueue(name: "small", width: 1)
            let outer = queue.add("outer") { () async throws in
                try await queue.add("inner", capacity: 1) {}
            }
            await outer.finished()
            #expect(reports.kinds == [.endlessWait])
            #expect(queue.operationCount == 0)
        }
    }

    /// What promises that nothing of it goes on cannot return.
    @Test func aScopeThatCannotEndStopsTheProgram() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            OperationsDiagnostics.mistakePolicy = .report
            let queue = OperationQueue(name: "serial", width: 1)
            queue.add("outer") { () async throws in
                try await queue.add(each: 1...3, capacity: 1) { _ in }
            }
            await queue.finished()
        }
        expect(result, says: "none of them would ever finish")
    }
}
