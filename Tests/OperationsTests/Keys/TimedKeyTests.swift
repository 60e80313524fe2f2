import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// Operations of a key in a queue with a clock of its own, and when they ran.
private struct Run {
    let scheduler = TestScheduler(seed: 1)
    let queue: OperationQueue
    private let starts = TestRecorder<String>()

    init() { queue = scheduler.makeQueue() }

    /// Adds an operation at a time in milliseconds, which is not before the last one.
    @discardableResult
    func add(
        _ name: String, at milliseconds: Int, _ traits: OperationTrait...
    ) throws -> TypedOperation<Void> {
        let clock = scheduler.clock
        let time = Duration.milliseconds(milliseconds) - clock.now.offset
        if time > .zero { try scheduler.advance(by: time) }
        let operation = TypedOperation { [starts] in
            let time = clock.now.offset / Duration.milliseconds(1)
            starts.record("\(name) \(Int(time))")
        }
        operation.name = name
        operation.apply(traits)
        queue.addOperation(operation)
        try scheduler.runUntilIdle()
        return operation
    }

    func end() throws -> [String] {
        try scheduler.run()
        return starts.events
    }
}

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct TimedKeyTests {
    private let pause = OperationTrait.debounced(by: "key", .milliseconds(300))
    private let turn = OperationTrait.throttled(by: "key", .seconds(1))

    @Test func debouncedOperationWaitsForAPause() throws {
        let run = Run()
        let first = try run.add("a", at: 0, pause)
        let second = try run.add("b", at: 200, pause)
        #expect(first.cancellationReason?.description == "'b' took its place")
        try run.add("c", at: 400, pause)
        #expect(try run.add("d", at: 600, pause).explain().description.contains("delayed for 300"))
        try run.add("e", at: 1_000, pause)
        #expect(try run.end() == ["d 900", "e 1300"])
        #expect(second.isCancelled && second.isFinished)
    }

    @Test func debouncedOperationWaitsNoLongerThanTheLimit() throws {
        let run = Run()
        let trait = OperationTrait.debounced(
            by: "key", .milliseconds(300), atMost: .milliseconds(500))
        for (number, time) in [0, 200, 400, 450, 499, 600, 700].enumerated() {
            try run.add("\(number)", at: time, trait)
        }
        #expect(try run.end() == ["4 500", "6 1000"])
    }

    @Test func debouncedOperationWhosePauseIsOverRuns() throws {
        let run = Run()
        let trait = OperationTrait.debounced(by: "key", .milliseconds(100))
        run.queue.maxConcurrentOperationCount = 0
        let first = try run.add("first", at: 0, trait)
        try run.add("second", at: 150, trait)
        #expect(!first.isCancelled)
        run.queue.maxConcurrentOperationCount = 1
        #expect(try run.end() == ["first 150", "second 250"])
    }

    @Test func firstThrottledOperationStartsAtOnceAndTheLastIsNotLost() throws {
        let run = Run()
        for (number, time) in [0, 100, 200, 900, 1_500, 1_600, 5_000, 5_100].enumerated() {
            try run.add("\(number)", at: time, turn)
        }
        #expect(
            try run.end() == ["0 0", "3 1000", "5 2000", "6 5000", "7 6000"])
    }

    @Test func turnOfACancelledOperationGoesToTheNext() throws {
        let run = Run()
        try run.add("first", at: 0, turn)
        try run.add("cancelled", at: 100, turn).cancel()
        try run.add("third", at: 200, turn)
        #expect(try run.end() == ["first 0", "third 1000"])
    }

    @Test func keysAreIndependent() throws {
        let run = Run()
        for key in ["a", "b"] {
            try run.add(key, at: 0, .throttled(by: key, .seconds(1)))
            try run.add("pause \(key)", at: 0, .debounced(by: key, .seconds(1)))
        }
        // A value that is not equal to itself is a key of its own each time.
        for _ in 0..<2 { try run.add("nan", at: 0, .throttled(by: Double.nan, .seconds(1))) }
        #expect(
            try run.end().sorted() == [
                "a 0", "b 0", "nan 0", "nan 0", "pause a 1000", "pause b 1000",
            ])
    }

    @Test func timesOfZeroOrLessHaveNoEffect() throws {
        let run = Run()
        for number in 0..<2 {
            try run.add("\(number)", at: 0, .debounced(by: 1, .seconds(-1)))
            try run.add("\(number)", at: 0, .throttled(by: 1, .zero))
            try run.add("\(number)", at: 0, .debounced(by: 1, .seconds(9), atMost: .zero))
        }
        #expect(try run.end().count == 6)
    }

    @Test func longerDelayCounts() throws {
        let run = Run()
        try run.add("a", at: 0, pause, .delay(.seconds(1)))
        try run.add("b", at: 0, turn, .delay(.milliseconds(100)))
        #expect(try run.end() == ["b 100", "a 1000"])
    }

    @Test func keysThatAreOfNoMoreUseAreForgotten() async {
        let queue = OperationQueue()
        for number in 0..<10_000 {
            queue.add(
                .throttled(by: number, .nanoseconds(1)), .debounced(by: number, .nanoseconds(1))
            ) {}
            if number % 100 == 0 { await queue.drain() }
        }
        await queue.drain()
        #expect(queue.keys.debounced.count == 0 && queue.keys.throttled.count < 1_000)
    }
}
