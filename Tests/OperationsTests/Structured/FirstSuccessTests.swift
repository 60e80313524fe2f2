import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// Operations that end with the first success of others.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct FirstSuccessTests {
    private struct Failure: Error, Equatable { var number = 0 }

    /// Operations that end when told to.
    private struct Race {
        let queue = OperationQueue()
        let gates = (0..<3).map { _ in AsyncGate() }
        var racers: [TypedOperation<Int>] = []

        init(failing: Set<Int> = []) {
            for (number, gate) in gates.enumerated() {
                racers.append(
                    queue.add("racer \(number)") { () async throws in
                        try await gate.wait()
                        if failing.contains(number) { throw Failure(number: number) }
                        return number
                    })
            }
        }
    }

    @Test(arguments: [false, true])
    func theFirstSuccessDecides(cancelsOthers: Bool) async throws {
        let race = Race()
        let first = race.queue.add("first", firstOf: race.racers, cancelsOthers: cancelsOthers)
        let next = race.queue.add(after: first) { $0 * 10 }
        race.gates[1].open()
        #expect(try await next.value == 10)
        #expect(try first.result == 1)
        if cancelsOthers {
            for number in [0, 2] {
                await race.racers[number].finished()
                guard case .replaced(by: "'racer 1'")? = race.racers[number].cancellationReason
                else {
                    Issue.record("\(String(describing: race.racers[number].cancellationReason))")
                    continue
                }
            }
        } else {
            for number in [0, 2] { race.gates[number].open() }
            #expect(try await race.racers[0].value == 0)
            #expect(try await race.racers[2].value == 2)
        }
        await race.queue.drain()
    }

    @Test func failuresDoNotMatterWhileOneCanSucceed() async throws {
        let race = Race(failing: [0, 1])
        let first = race.queue.add(firstOf: race.racers)
        race.gates[0].open()
        race.gates[1].open()
        for number in [0, 1] { await race.racers[number].finished() }
        #expect(!first.isFinished)
        #expect(first.explain().description.contains("racer 2"))
        let other = race.queue.add("other", firstOf: [race.racers[2], TypedOperation { 4 }])
        #expect(other.explain().description.contains("'other' waits for the first success of"))
        other.cancel()
        race.gates[2].open()
        #expect(try await first.value == 2)
        await race.queue.drain()
    }

    @Test func withoutASuccessItFails() async throws {
        let race = Race(failing: [0, 1, 2])
        race.racers[2].cancel()
        let first = race.queue.add(firstOf: race.racers)
        for gate in race.gates { gate.open() }
        let error = await #expect(throws: CollectedErrors.self) { try await first.value }
        #expect(error?.failures.count == 2)
        // One failure is thrown as it is.
        let one = race.queue.add(firstOf: [race.racers[0], race.racers[2]])
        await #expect(throws: Failure(number: 0)) { try await one.value }
        // If nothing failed, it is cancelled.
        let none = race.queue.add(firstOf: [race.racers[2]])
        await none.finished()
        #expect(none.isCancelled)
        guard case .dependencyCancelled(operation: "'racer 2'")? = none.cancellationReason else {
            Issue.record("\(String(describing: none.cancellationReason))")
            return
        }
    }

    /// As an operation that was added `after:` another one, it leaves a suspended queue.
    @Test func itEndsInASuspendedQueueIfAllWereCancelled() async throws {
        let (queue, others) = (suspendedQueue(), suspendedQueue())
        let racers = (0..<3).map { number in others.add("racer \(number)") { number } }
        let first = queue.add(firstOf: racers)
        for racer in racers { racer.cancel() }
        await first.finished()
        #expect(first.isCancelled)
        #expect(first.cancellationReason?.description.contains("'racer 2'") == true)
        await #expect(throws: OperationCancellation.self) { try await first.value }
        let late = queue.add(firstOf: racers)
        await late.finished()
        #expect(late.isCancelled && queue.operationCount == 0)
    }

    /// The error of a body that was told to stop is no failure.
    @Test func operationThatWasCancelledWhileItRanHasNotFailed() async throws {
        let (queue, gate, began) = (OperationQueue(), AsyncGate(), Signal())
        let racer = queue.add("racer") { () async throws in
            began.send()
            try await gate.wait()
        }
        #expect(await began.arrives())
        racer.cancel()
        let first = queue.add(firstOf: [racer])
        await first.finished()
        #expect(racer.error is CancellationError && racer.isCancelled)
        #expect(first.isCancelled)
        guard case .dependencyCancelled(operation: "'racer'")? = first.cancellationReason else {
            Issue.record("\(String(describing: first.cancellationReason))")
            return
        }
        let failed = queue.add { () throws in throw Failure(number: 1) }
        let second = queue.add(firstOf: [racer, failed])
        await #expect(throws: Failure(number: 1)) { try await second.value }
    }

    @Test func aDelayDoesNotHideASuccess() throws {
        let scheduler = TestScheduler(seed: 1)
        let (queue, never) = (scheduler.makeQueue(), suspendedQueue())
        let slow = never.add { 1 }
        let quick = queue.add(.delay(.seconds(1))) { 2 }
        let first = queue.add(.delay(.seconds(2)), firstOf: [slow, quick])
        try scheduler.advance(by: .seconds(3))
        #expect(try first.result == 2)
        never.cancelAllOperations()
    }

    @Test func nothingIsKept() async throws {
        weak var candidate: TypedOperation<Int>?
        let queue = OperationQueue()
        do {
            let never = TypedOperation { 1 }
            candidate = never
            for _ in 0..<3 {
                #expect(try await queue.add(firstOf: [never, queue.add { 2 }]).value == 2)
            }
            #expect(await comesTrue { never.withExtras { $0.waiters.count } == 0 })
        }
        #expect(await comesTrue { candidate == nil })
    }

    @Test func itsCancellationReachesTheOthers() async throws {
        for cancelsOthers in [true, false] {
            let race = Race()
            let (a, b, c) = (race.racers[0], race.racers[1], race.racers[2])
            let first = race.queue.add(firstOf: a, b, c, cancelsOthers: cancelsOthers)
            first.cancel()
            await first.finished()
            #expect(race.racers.allSatisfy { $0.isCancelled == cancelsOthers })
            for gate in race.gates { gate.open() }
            await race.queue.drain()
        }
    }

    @Test func whatHasEndedCounts() async throws {
        let race = Race()
        for gate in race.gates { gate.open() }
        await race.queue.drain()
        #expect((0..<3).contains(try await race.queue.add(firstOf: race.racers).value))
    }

    @Test func operationsWithoutResultsRaceToo() async throws {
        let (queue, never) = (OperationQueue(), suspendedQueue())
        let slow = BlockOperation {}
        never.addOperation(slow)
        let quick = BlockOperation {}
        queue.addOperation(quick)
        let first = queue.add(firstOf: [slow, quick] as [Operation], cancelsOthers: true)
        #expect(try await first.value === quick)
        await slow.finished()
        #expect(slow.isCancelled)
    }

    @Test func itTakesNoSlotWhileItWaits() async throws {
        let (queue, gate) = (OperationQueue(width: 1), AsyncGate())
        let racer = OperationQueue().add { () async throws in try await gate.wait() }
        let first = queue.add(firstOf: [racer])
        #expect(try await queue.add { 1 }.value == 1)
        gate.open()
        try await first.value
    }

    @Test func failuresOfRacersDoNotEndAScope() async throws {
        let value = try await withOperationQueue { queue in
            let source = queue.add { () throws -> Int in throw Failure() }
            let racers = [
                queue.add { () throws -> Int in throw Failure() },
                queue.add(after: source) { $0 },
                queue.add { 3 },
            ]
            return try await queue.add(firstOf: racers).value
        }
        #expect(value == 3)
        await #expect(throws: Failure.self) {
            try await withOperationQueue { queue in
                let racer = queue.add { () throws -> Int in throw Failure() }
                queue.add(firstOf: [racer])
            }
        }
    }

    /// A wait is stuck only if all of the others are.
    @Test func oneThatCanGoOnIsEnough() async throws {
        let race = Race()
        let never = TypedOperation { 7 }
        let first = race.queue.add(firstOf: race.racers + [never])
        let waiting = race.queue.add { first.waitUntilFinished() }
        #expect(await comesTrue { waiting.isExecuting })
        race.gates[0].open()
        await waiting.finished()
        #expect(try first.result == 0)
        for gate in race.gates { gate.open() }
        await race.queue.drain()
    }

    @Test func manyRacersEndAtOnce() async throws {
        let queue = OperationQueue()
        for round in 0..<200 {
            let racers = (0..<8).map { number in queue.add { number } }
            let first = queue.add(firstOf: racers, cancelsOthers: round % 2 == 0)
            #expect((0..<8).contains(try await first.value))
        }
        await queue.drain()
    }
}
