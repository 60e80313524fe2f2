import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// A sequence of numbers that counts how many of them were taken. It is not Sendable.
final class Tap: Sequence, IteratorProtocol {
    let limit: Int
    let taken = Tally()
    private var last = -1

    init(_ limit: Int) { self.limit = limit }

    func next() -> Int? {
        guard last + 1 < limit else { return nil }
        last += 1
        taken.increment()
        return last
    }
}

/// The asynchronous variant of `Tap`, which may throw an error at its end.
struct AsyncTap: AsyncSequence {
    typealias Element = Int
    let tap: Tap
    var error: (any Error)?

    struct AsyncIterator: AsyncIteratorProtocol {
        let tap: Tap
        let error: (any Error)?
        mutating func next() async throws -> Int? {
            await Task.yield()
            if let next = tap.next() { return next }
            if let error { throw error }
            return nil
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(tap: tap, error: error) }
}

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ConcurrentMapTests {
    struct Broken: Error, Equatable {}

    @Test func resultsAreInInputOrder() async throws {
        let numbers = try await (0..<100).concurrentMap(width: 8) { number in
            for _ in 0..<((100 - number) % 5) { await Task.yield() }
            return "\(number)"
        }
        #expect(numbers == (0..<100).map { "\($0)" })
        let tap = AsyncTap(tap: Tap(100))
        #expect(try await tap.concurrentMap { $0 * 2 } == (0..<100).map { $0 * 2 })
        #expect(try await [Int]().concurrentMap { $0 } == [])
    }

    @Test func widthLimitsRunningBodiesAndTakenElements() async throws {
        let (tap, inside) = (Tap(200), Occupancy())
        let taken = tap.taken
        let done = Tally()
        try await tap.concurrentForEach(width: 3) { _ in
            inside.enter()
            #expect(taken.value <= done.value + 3)
            await Task.yield()
            inside.leave()
            done.increment()
        }
        #expect(inside.highest <= 3 && taken.value == 200)
    }

    @Test(arguments: [true, false])
    func firstErrorCancelsTheRest(isAsync: Bool) async throws {
        let tap = Tap(100)
        let cancelled = Tally()
        let body: @Sendable (Int) async throws -> Int = { number in
            if number == 3 { throw Broken() }
            do {
                try await untilCancelled()
            } catch {
                cancelled.increment()
                throw error
            }
            return number
        }
        await #expect(throws: Broken()) {
            if isAsync {
                _ = try await AsyncTap(tap: tap).concurrentMap(width: 4, body)
            } else {
                _ = try await tap.concurrentMap(width: 4, body)
            }
        }
        #expect(cancelled.value <= 3 && tap.taken.value == 4)
    }

    @Test func errorOfTheSequenceCancelsTheRest() async throws {
        let cancelled = Tally()
        await #expect(throws: Broken()) {
            try await AsyncTap(tap: Tap(3), error: Broken()).concurrentForEach(width: 4) { _ in
                do { try await untilCancelled() } catch { cancelled.increment() }
            }
        }
        #expect(cancelled.value <= 3)
    }

    @Test(arguments: [true, false])
    func cancellingTheTaskCancelsAllBodies(isAsync: Bool) async throws {
        let began = UncancellableGate()
        let task = Task {
            let body: @Sendable (Int) async throws -> Void = { _ in
                began.open()
                try await untilCancelled()
            }
            if isAsync {
                try await AsyncTap(tap: Tap(100)).concurrentForEach(width: 2, body)
            } else {
                try await Tap(100).concurrentForEach(width: 2, body)
            }
        }
        await began.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func bodiesHaveTheTaskLocalValues() async throws {
        let seen = try await Label.$value.withValue("map") {
            try await (0..<10).concurrentMap { _ in
                await Task.yield()
                return Label.value
            }
        }
        #expect(seen == Array(repeating: "map", count: 10))
    }

    @MainActor @Test func sequenceIsIteratedOnTheCallersActor() async throws {
        struct OnMain: Sequence, IteratorProtocol {
            var left = 10
            mutating func next() -> Int? {
                MainActor.assertIsolated()
                left -= 1
                return left < 0 ? nil : left
            }
        }
        #expect(try await OnMain().concurrentMap(width: 2) { $0 } == (0..<10).reversed())
    }

    @Test func concurrentMapWorksInsideASerialQueue() async throws {
        let sum = serialQueue().add {
            try await (0..<100).concurrentMap(width: 4) { $0 }.reduce(0, +)
        }
        #expect(try await sum.value == 4950)
    }

    @Test func widthHoldsForManyElements() async throws {
        let running = Atomic<Int>(0)
        let highest = Atomic<Int>(0)
        final class Element: Sendable {}
        let count = 1_000_000 / slowness / 4
        let sum = Tally()
        try await (0..<count).concurrentForEach(width: 4) { _ in
            let now = running.add(1, ordering: .relaxed).newValue
            highest.max(now, ordering: .relaxed)
            sum.increment()
            running.subtract(1, ordering: .relaxed)
        }
        #expect(sum.value == count && highest.load(ordering: .relaxed) <= 4)
    }

    @Test func widthOfZeroTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            try await [1].concurrentForEach(width: 0) { _ in }
        }
        expect(
            result,
            says: "concurrentForEach cannot work on 0 elements at a time: its width is 1 or more")
    }
}
