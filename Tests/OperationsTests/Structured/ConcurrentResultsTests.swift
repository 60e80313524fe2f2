import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

private enum Request {
    @TaskLocal static var id = 0
}

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ConcurrentResultsTests {
    @Test func everyElementComesOnceWithItsResult() async throws {
        var seen: [Int: String] = [:]
        for try await (number, text) in (0..<1_000).concurrentResults(width: 8, { "\($0)" }) {
            #expect(seen.updateValue(text, forKey: number) == nil)
        }
        #expect(seen.count == 1_000 && seen.allSatisfy { "\($0)" == $1 })
        for try await _ in [Int]().concurrentResults({ $0 }) { Issue.record("no element") }
    }

    /// The first element ends only after the others have been returned.
    @Test func resultsComeAsTheyFinish() async throws {
        let gate = AsyncGate()
        var order: [Int] = []
        let results = (0..<5).concurrentResults(width: 2) { number in
            if number == 0 { try await gate.wait() }
            return number
        }
        for try await (number, _) in results {
            order.append(number)
            if order.count == 4 { gate.open() }
        }
        #expect(order == [1, 2, 3, 4, 0])
    }

    @Test func atMostWidthElementsAreUnderWayOrNotTaken() async throws {
        let (inside, taken) = (Occupancy(), Tally())
        let elements = sequence(state: 0) { (next: inout Int) -> Int? in
            taken.increment()
            next += 1
            return next <= 100 ? next : nil
        }
        var count = 0
        let results = elements.concurrentResults(width: 3) { number in
            inside.enter()
            await Task.yield()
            inside.leave()
            return number
        }
        for try await _ in results {
            count += 1
            #expect(taken.value <= count + 3)
        }
        #expect(count == 100 && inside.highest <= 3)
    }

    @Test func firstErrorCancelsTheRestAndIsThrownAfterItsEnd() async {
        let ended = Tally()
        let others = [AsyncGate(), AsyncGate()]
        await #expect(throws: NoConnection.self) {
            let results = (0..<3).concurrentResults(width: 3) { number in
                defer { ended.increment() }
                guard number < others.count else {
                    // Work that has not begun when another fails never begins.
                    for other in others { try await other.wait() }
                    throw NoConnection()
                }
                others[number].open()
                try await untilCancelled()
            }
            for try await _ in results {}
        }
        #expect(ended.value == 3)
    }

    @Test func nothingComesAfterAnError() async throws {
        var iterator = (0..<3).concurrentResults(width: 1) { number in
            if number == 1 { throw NoConnection() }
            return number
        }.makeAsyncIterator()
        #expect(try await iterator.next()?.0 == 0)
        await #expect(throws: NoConnection.self) { _ = try await iterator.next() }
        #expect(try await iterator.next() == nil)
    }

    @Test func cancellationOfTheTaskCancelsTheWork() async {
        let (began, ended) = (Signal(), Tally())
        let task = Task {
            let results = (0..<2).concurrentResults(width: 2) { _ in
                began.send()
                defer { ended.increment() }
                try await untilCancelled()
            }
            for try await _ in results {}
        }
        for _ in 0..<2 { #expect(await began.arrives()) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(ended.value == 2)
    }

    @Test func leavingTheLoopCancelsTheRest() async throws {
        let (began, ended) = (AsyncGate(), Signal())
        let results = (0..<2).concurrentResults(width: 2) { number in
            if number == 0 { return try await began.wait() }
            began.open()
            defer { ended.send() }
            try? await untilCancelled()
        }
        for try await (number, _) in results {
            #expect(number == 0)
            break
        }
        #expect(await ended.arrives())
    }

    @Test func closureFormAwaitsTheRest() async throws {
        // What is cancelled before it begins never begins.
        let (begun, ended) = (Tally(), Tally())
        let first = try await (0..<8).concurrentResults(width: 8) { number in
            begun.increment()
            defer { ended.increment() }
            if number == 5 { return number }
            try await untilCancelled()
            return number
        } consume: { results in
            for try await (number, _) in results { return number }
            return -1
        }
        #expect(first == 5 && ended.value == begun.value)
        await #expect(throws: NoConnection.self) {
            let numbers = 0..<2
            try await numbers.concurrentResults(width: 1, { $0 }) { results in
                for try await _ in results {
                    throw NoConnection()
                }
            }
        }
    }

    @Test func bodiesHaveTheTaskLocalValues() async throws {
        try await Request.$id.withValue(7) {
            for try await (_, id) in (0..<10).concurrentResults(width: 3, { _ in Request.id }) {
                #expect(id == 7)
            }
        }
    }

    @MainActor @Test func loopStaysOnItsActor() async throws {
        var count = 0
        let squares = (0..<50).concurrentResults(width: 4) { $0 * $0 }
        for try await (number, square) in squares {
            MainActor.assertIsolated()
            #expect(square == number * number)
            count += 1
        }
        #expect(count == 50)
    }

    @Test func widthOfZeroIsRefused() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            _ = [1].concurrentResults(width: 0) { $0 }
        }
        expect(result, says: "concurrentResults cannot work on 0 elements at a time")
    }

    // MARK: Async sequences

    @Test func resultsComeWhileTheSequenceWaits() async throws {
        let (stream, input) = AsyncStream.makeStream(of: Int.self)
        input.yield(1)
        var seen: [Int] = []
        for try await (element, square) in stream.concurrentResults(width: 4, { $0 * $0 }) {
            #expect(square == element * element)
            seen.append(element)
            // The sequence has no further element until the loop has this result.
            if element < 5 { input.yield(element + 1) } else { input.finish() }
        }
        #expect(seen == [1, 2, 3, 4, 5])
    }

    @Test func aSlowLoopSlowsAnAsyncSequenceDown() async throws {
        let taken = Tally()
        let stream = AsyncStream(unfolding: { taken.increment() < 100 ? taken.value : nil })
        var count = 0
        for try await _ in stream.concurrentResults(width: 3, { $0 }) {
            count += 1
            // Those that have results, or are under way, and the one that is just taken.
            #expect(taken.value <= count + 4)
        }
        #expect(count == 99)
    }

    @Test func anErrorOfAnAsyncSequenceEndsTheWork() async throws {
        struct Failure: Error, Equatable {}
        let (taken, began, cancelled) = (Tally(), Signal(), Tally())
        let stream = AsyncThrowingStream<Int, any Error> {
            let number = taken.increment()
            guard number == 3 else { return number }
            for _ in 1...2 { #expect(await began.arrives()) }
            throw Failure()
        }
        await #expect(throws: Failure.self) {
            for try await _ in stream.concurrentResults(
                width: 4,
                { _ in
                    began.send()
                    try? await untilCancelled()
                    cancelled.increment()
                })
            {}
        }
        #expect(cancelled.value == 2)
    }

    @Test func cancellationReachesATaskThatWaitsForTheSequence() async {
        let (stream, input) = AsyncStream.makeStream(of: Int.self)
        let began = Signal()
        let task = Task {
            for try await _ in stream.concurrentResults(width: 2, { $0 }) { began.send() }
        }
        input.yield(1)
        #expect(await began.arrives())
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func consumingWaitsForTheTaskThatFeeds() async throws {
        let (taken, waits, ended) = (Tally(), Signal(), Tally())
        let stream = AsyncStream {
            if taken.increment() == 1 { return 1 }
            waits.send()
            try? await untilCancelled()
            ended.increment()
            return nil
        }
        let first = try await stream.concurrentResults(width: 2) { number in
            number
        } consume: { results in
            for try await (number, _) in results {
                #expect(await waits.arrives())
                return number
            }
            return 0
        }
        #expect(first == 1 && ended.value == 1)
    }

    /// One element, and then a wait that only a cancellation ends. The signal comes when the loop
    /// over the elements releases its iterator.
    private struct OneElement: AsyncSequence {
        final class Probe: Sendable {
            let ended: Signal

            init(_ ended: Signal) { self.ended = ended }

            deinit { ended.send() }
        }

        struct AsyncIterator: AsyncIteratorProtocol {
            let probe: Probe
            var hasBegun = false

            mutating func next() async -> Int? {
                if hasBegun {
                    try? await untilCancelled()
                    return nil
                }
                hasBegun = true
                return 1
            }
        }

        let ended: Signal

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(probe: Probe(ended)) }
    }

    @Test func aLoopThatIsLeftEndsTheFeeding() async throws {
        let ended = Signal()
        for try await _ in OneElement(ended: ended).concurrentResults(width: 2, { $0 }) { break }
        #expect(await ended.arrives())
    }

    @Test(arguments: seeds(count: 20))
    func everyElementHasOneResult(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let count = 1 + random.below(500)
        let (stream, input) = AsyncStream.makeStream(of: Int.self)
        let width = 1 + random.below(8)
        let feeder = Task.detached {
            for number in 0..<count {
                input.yield(number)
                if number % 7 == 0 { await Task.yield() }
            }
            input.finish()
        }
        var seen: Set<Int> = []
        for try await (number, _) in stream.concurrentResults(
            width: width,
            { number in
                if number % 3 == 0 { await Task.yield() }
            })
        {
            #expect(seen.insert(number).inserted)
        }
        #expect(seen.count == count)
        await feeder.value
    }
}
