import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct RateLimitTests {
    /// Records when operations begin, in milliseconds.
    private struct Starts {
        let scheduler = TestScheduler(seed: 1)
        let events = TestRecorder<String>()

        /// What happened, by time and then by name: which of several that start at one time comes
        /// first is the scheduler's choice.
        var sorted: [String] {
            events.events.sorted { a, b in
                let (a, b) = (a.split(separator: " "), b.split(separator: " "))
                let (first, second) = (Int(a.last ?? "") ?? 0, Int(b.last ?? "") ?? 0)
                return first == second ? a[0] < b[0] : first < second
            }
        }

        func note(_ name: String) -> @Sendable () -> Void {
            { [events, clock = scheduler.clock] in
                let time = clock.now.offset.components
                let milliseconds = time.seconds * 1_000 + time.attoseconds / 1_000_000_000_000_000
                events.record("\(name) \(milliseconds)")
            }
        }
    }

    @Test func burstStartsAtOnceAndTheRestAsTokensCome() throws {
        let starts = Starts()
        let limit = RateLimit(2, per: .seconds(1), burst: 3, name: "GitHub")
        let queue = starts.scheduler.makeQueue()
        for number in 1...6 { queue.add(.rate(limit), body: starts.note("\(number)")) }
        try starts.scheduler.run()
        #expect(starts.sorted == ["1 0", "2 0", "3 0", "4 500", "5 1000", "6 1500"])
        #expect(limit.availableTokens == 0)
    }

    @Test func queuesShareALimit() throws {
        let starts = Starts()
        let limit = RateLimit(1, per: .seconds(1))
        let queues = (0..<3).map { _ in starts.scheduler.makeQueue() }
        for number in 0..<9 { queues[number % 3].add(.rate(limit), body: starts.note("x")) }
        try starts.scheduler.run()
        #expect(starts.events.events == (0..<9).map { "x \($0 * 1_000)" })
    }

    @Test func explanationSaysHowLongItTakes() throws {
        let starts = Starts()
        let limit = RateLimit(5_000, per: .seconds(3_600), burst: 1, name: "GitHub")
        let queue = starts.scheduler.makeQueue()
        queue.add("first", .rate(limit)) {}
        let second = queue.add("second", .rate(limit)) {}
        let third = queue.add("third", .rate(limit)) {}
        try starts.scheduler.runUntilIdle()
        #expect(
            second.explain().description
                == "'second' waits for a token of 'GitHub' (0 of 1, next in 720 ms).")
        #expect(
            third.explain().description
                == "'third' waits for a token of 'GitHub' (0 of 1, next in 720 ms), and 1 other is "
                + "before it.")
        limit.pause(for: .seconds(30))
        #expect(
            second.explain().description
                == "'second' waits for a token of 'GitHub' (0 of 1, closed for 30.0 s).")
        limit.resume()
        limit.limit = 0
        #expect(
            second.explain().description
                == "'second' waits for a token of 'GitHub' (0 of 1, closed).")
        limit.limit = 5_000
        try starts.scheduler.run()
        #expect(third.isFinished)
    }

    @Test func costsOfSeveralTokensAreNotOvertaken() throws {
        let starts = Starts()
        let limit = RateLimit(1, per: .seconds(1), burst: 3)
        let queue = starts.scheduler.makeQueue()
        queue.add(.rate(limit, tokens: 2), body: starts.note("two"))
        queue.add(.rate(limit, tokens: 3), body: starts.note("three"))
        queue.add(.rate(limit), body: starts.note("one"))
        queue.add(.rate(limit, tokens: 0), body: starts.note("none"))
        try starts.scheduler.run()
        #expect(starts.sorted == ["none 0", "two 0", "three 2000", "one 3000"])
    }

    @Test func priorityDecidesAmongThoseThatWait() throws {
        let starts = Starts()
        let limit = RateLimit(1, per: .seconds(1))
        let queue = starts.scheduler.makeQueue()
        queue.add(.rate(limit), body: starts.note("first"))
        queue.add(.rate(limit), body: starts.note("normal"))
        try starts.scheduler.runUntilIdle()
        for (name, priority) in [
            ("low", Operation.QueuePriority.low), ("high", .high), ("high 2", .high),
            ("very high", .veryHigh),
        ] {
            queue.add(.rate(limit), .priority(priority), body: starts.note(name))
            try starts.scheduler.runUntilIdle()
        }
        try starts.scheduler.run()
        #expect(
            starts.events.events == [
                "first 0", "very high 1000", "high 2000", "high 2 3000", "normal 4000", "low 5000",
            ])
    }

    @Test func changedPriorityMovesOperationInLine() throws {
        let starts = Starts()
        let limit = RateLimit(1, per: .seconds(1))
        let queue = starts.scheduler.makeQueue()
        let operations = try (1...5).map { number in
            let operation = queue.add(.rate(limit), body: starts.note("\(number)"))
            try starts.scheduler.runUntilIdle()
            return operation
        }
        operations[3].queuePriority = .high
        operations[1].queuePriority = .low
        // Behind the other operation of its new priority.
        operations[2].queuePriority = .high
        try starts.scheduler.run()
        #expect(starts.events.events == ["1 0", "4 1000", "3 2000", "5 3000", "2 4000"])
    }

    /// The operation that becomes the first in line starts at once if its tokens are there.
    @Test(arguments: [true, false])
    func changedPriorityServesTheLine(raises: Bool) throws {
        let starts = Starts()
        let limit = RateLimit(1, per: .seconds(1), burst: 3)
        let queue = starts.scheduler.makeQueue()
        queue.add(.rate(limit, tokens: 3), body: starts.note("first"))
        try starts.scheduler.runUntilIdle()
        let large = queue.add(.rate(limit, tokens: 3), body: starts.note("large"))
        try starts.scheduler.runUntilIdle()
        let small = queue.add(.rate(limit), body: starts.note("small"))
        queue.add(.delay(.milliseconds(1_500))) {
            if raises { small.queuePriority = .high } else { large.queuePriority = .low }
        }
        try starts.scheduler.run()
        #expect(starts.events.events == ["first 0", "small 1500", "large 4000"])
    }

    @Test func cancelledOperationTakesNoToken() throws {
        let starts = Starts()
        let limit = RateLimit(1, per: .seconds(1))
        let queue = starts.scheduler.makeQueue()
        queue.add(.rate(limit), body: starts.note("1"))
        try starts.scheduler.runUntilIdle()
        let second = queue.add(.rate(limit), body: starts.note("2"))
        queue.add(.rate(limit), body: starts.note("3"))
        try starts.scheduler.runUntilIdle()
        second.cancel()
        try starts.scheduler.run()
        #expect(starts.events.events == ["1 0", "3 1000"])
    }

    @Test func eachAttemptTakesAToken() throws {
        let starts = Starts()
        let limit = RateLimit(1, per: .seconds(1))
        let queue = starts.scheduler.makeQueue()
        let note = starts.note("try")
        let retried = queue.add(.rate(limit), .retry(2, backoff: .none)) {
            note()
            if Operation.current?.attempt != 3 { throw NoConnection() }
        }
        try starts.scheduler.run()
        try retried.result
        #expect(starts.events.events == ["try 0", "try 1000", "try 2000"])
    }

    /// An operation that gets a token while its queue is full gives it back, and takes it when it
    /// begins.
    @Test func tokenIsTakenWhenTheOperationBegins() throws {
        let starts = Starts()
        let limit = RateLimit(1, per: .seconds(1))
        let full = starts.scheduler.makeQueue(width: 1)
        let other = starts.scheduler.makeQueue()
        full.add(.rate(limit), body: starts.note("1"))
        try starts.scheduler.runUntilIdle()
        full.add(.rate(limit), body: starts.note("2"))
        try starts.scheduler.runUntilIdle()
        let clock = starts.scheduler.clock
        full.add(.priority(.veryHigh)) { try await clock.sleep(for: .seconds(10)) }
        try starts.scheduler.runUntilIdle()
        try starts.scheduler.advance(by: .seconds(2))
        #expect(starts.events.events == ["1 0"])
        other.add(.rate(limit), body: starts.note("3"))
        try starts.scheduler.run()
        #expect(starts.events.events == ["1 0", "3 2000", "2 10000"])
    }

    @Test func suspendedQueueKeepsNoToken() throws {
        let starts = Starts()
        let limit = RateLimit(1, per: .seconds(1))
        let queues = [starts.scheduler.makeQueue(), starts.scheduler.makeQueue()]
        queues[0].add(.rate(limit), body: starts.note("1"))
        try starts.scheduler.runUntilIdle()
        queues[0].add(.rate(limit), body: starts.note("2"))
        try starts.scheduler.runUntilIdle()
        queues[1].add(.rate(limit), body: starts.note("3"))
        try starts.scheduler.runUntilIdle()
        queues[0].isSuspended = true
        try starts.scheduler.advance(by: .seconds(5))
        queues[0].isSuspended = false
        try starts.scheduler.run()
        #expect(starts.events.events.first == "1 0" && starts.events.events.count == 3)
        #expect(Set(starts.events.events.dropFirst()) == ["3 1000", "2 5000"])
    }

    @Test func keysHaveBucketsOfTheirOwn() throws {
        let starts = Starts()
        let limit = RateLimit(1, per: .seconds(1))
        let queue = starts.scheduler.makeQueue()
        for number in 0..<4 {
            queue.add(.rate(limit, by: number % 2), body: starts.note("\(number % 2)"))
        }
        queue.add(.rate(limit), body: starts.note("no key"))
        try starts.scheduler.run()
        #expect(
            starts.sorted == ["0 0", "1 0", "no key 0", "0 1000", "1 1000"])
    }

    @Test func idleBucketsOfKeysExpire() async {
        let limit = RateLimit(1, per: .nanoseconds(1))
        let queue = OperationQueue()
        for number in 0..<10_000 {
            queue.add(.rate(limit, by: number)) {}
            if number % 100 == 0 { await queue.drain() }
        }
        await queue.drain()
        #expect(limit.bucketCount < 1_000)
    }

    @Test func keyUnequalToItselfHasABucketOfItsOwnEachTime() throws {
        let starts = Starts()
        let limit = RateLimit(1, per: .seconds(1))
        let queue = starts.scheduler.makeQueue()
        for _ in 0..<2 { queue.add(.rate(limit, by: Double.nan), body: starts.note("x")) }
        try starts.scheduler.run()
        #expect(starts.events.events == ["x 0", "x 0"])
    }

    @Test func pauseHoldsBackEverybody() throws {
        let starts = Starts()
        let limit = RateLimit(10, per: .seconds(1))
        let queue = starts.scheduler.makeQueue()
        queue.add(.rate(limit), body: starts.note("0"))
        try starts.scheduler.run()
        limit.pause(for: .seconds(5))
        limit.pause(for: .seconds(1))
        queue.add(.rate(limit), body: starts.note("1"))
        queue.add(.rate(limit, by: "key"), body: starts.note("2"))
        try starts.scheduler.run()
        #expect(starts.sorted == ["0 0", "1 5000", "2 5000"])
    }

    private struct TooManyRequests: Error {}

    /// Adds an operation that a server refuses once, for seven seconds.
    @discardableResult
    private func addRefused(
        to queue: OperationQueue, _ rate: OperationTrait, closing limit: RateLimit, _ starts: Starts
    ) -> TypedOperation<Void> {
        let note = starts.note("refused")
        return queue.add(
            rate, .retry(1, backoff: .none) { _ in .retry(after: .seconds(7), closing: limit) }
        ) {
            note()
            if Operation.current?.attempt == 1 { throw TooManyRequests() }
        }
    }

    @Test func answerThatClosesTheLimitHoldsBackEverybody() throws {
        let starts = Starts()
        let limit = RateLimit(10, per: .seconds(1), burst: 1)
        let queue = starts.scheduler.makeQueue()
        let retried = addRefused(to: queue, .rate(limit), closing: limit, starts)
        queue.add(.rate(limit), body: starts.note("other"))
        try starts.scheduler.run()
        try retried.result
        #expect(starts.events.events.first == "refused 0")
        #expect(
            Set(starts.events.events.dropFirst()) == ["other 7000", "refused 7100"]
                || Set(starts.events.events.dropFirst()) == ["refused 7000", "other 7100"])
    }

    @Test func answerToAKeyClosesTheBucketOfThatKey() throws {
        let starts = Starts()
        let limit = RateLimit(10, per: .seconds(1), burst: 1)
        let queue = starts.scheduler.makeQueue()
        addRefused(to: queue, .rate(limit, by: "a"), closing: limit, starts)
        try starts.scheduler.runUntilIdle()
        queue.add(.rate(limit, by: "b"), body: starts.note("b"))
        let waiting = queue.add("same key", .rate(limit, by: "a")) {}
        try starts.scheduler.runUntilIdle()
        #expect(
            waiting.explain().description
                == "'same key' waits for a token of 'requests' (0 of 1, closed for 7.0 s).")
        limit.pause(for: .seconds(9), by: "c")
        limit.resume()
        queue.add(.rate(limit, by: "c"), body: starts.note("c"))
        try starts.scheduler.run()
        #expect(starts.sorted == ["b 0", "c 0", "refused 0", "refused 7000"])
        #expect(waiting.isFinished)
    }

    @Test func limitCanBeChangedInUse() throws {
        let starts = Starts()
        let limit = RateLimit(1, per: .seconds(10))
        let queue = starts.scheduler.makeQueue()
        for number in 1...3 { queue.add(.rate(limit), body: starts.note("\(number)")) }
        let wide = queue.add(.rate(limit, by: "key"), body: starts.note("key"))
        try starts.scheduler.advance(by: .seconds(1))
        // A tenth of a token is there: the rest comes within 0.9 seconds.
        limit.limit = 10
        try starts.scheduler.run()
        #expect(starts.sorted == ["1 0", "key 0", "2 1900", "3 2900"])
        #expect(wide.isFinished)
        limit.burst = 5
        #expect(limit.burst == 5 && limit.limit == 10)
    }

    @Test func tokensAndPermitsAreTakenTogether() throws {
        let starts = Starts()
        let (limit, budget) = (RateLimit(1, per: .seconds(1)), ConcurrencyBudget(1))
        let queue = starts.scheduler.makeQueue()
        let clock = starts.scheduler.clock
        queue.add(.rate(limit), .cost(1, of: budget)) {
            try await clock.sleep(for: .milliseconds(2_500))
        }
        queue.add(.rate(limit), .cost(1, of: budget), body: starts.note("both"))
        queue.add(.cost(1, of: budget), body: starts.note("permit"))
        try starts.scheduler.run()
        #expect(starts.events.events == ["both 2500", "permit 2500"])
        #expect(budget.inUse == 0)
    }

    /// Random operations, in any order of events: no more start in any time than tokens came.
    @Test func neverStartsMoreThanTokensCame() throws {
        try TestScheduler.explore(schedules: 100) { scheduler in
            let limit = RateLimit(2, per: .seconds(1), burst: 3)
            let times = TestRecorder<Duration>()
            let queues = [scheduler.makeQueue(width: 1), scheduler.makeQueue()]
            let operations = (0..<12).map { number in
                queues[number % 2].add(
                    .rate(limit), .priority(number % 3 == 0 ? .high : .normal),
                    .retry(1, backoff: .none)
                ) {
                    times.record(scheduler.clock.now.offset)
                    if number % 4 == 0, Operation.current?.attempt == 1 { throw NoConnection() }
                }
            }
            queues[0].add(.delay(.milliseconds(700))) { operations[10].cancel() }
            try scheduler.run()
            for (index, start) in times.events.enumerated() {
                for (other, end) in times.events.enumerated() where other >= index {
                    let most = 3 + Int((end - start) / .milliseconds(500))
                    try scheduler.check(other - index + 1 <= most, "\(times.events)")
                }
            }
            // Tokens are not lost either: the last start comes as soon as they allow.
            let last = max(0, times.events.count - 3) * 500
            try scheduler.check(times.events.last == .milliseconds(last), "\(times.events)")
        }
    }

    @Test func realTimeIsHeeded() async {
        let limit = RateLimit(100, per: .seconds(1), burst: 1)
        let queue = OperationQueue()
        let start = ContinuousClock.now
        for _ in 0..<11 { queue.add(.rate(limit)) {} }
        await queue.drain()
        #expect(ContinuousClock.now - start >= .milliseconds(100))
    }

    @Test func waitersAreNearLinear() async {
        await Growth.expectNearLinear(from: 2_000) { count in
            let limit = RateLimit(1, per: .nanoseconds(1), burst: 1)
            limit.limit = 0
            let queue = OperationQueue()
            for number in 0..<count {
                queue.add(.rate(limit), .priority(number % 2 == 0 ? .high : .low)) {}
            }
            // Tokens for all, so that no operation waits for a timer.
            limit.burst = count
            limit.limit = 1_000
            await queue.drain()
        }
    }

    @Test func limitIsReleased() async {
        weak var reference: RateLimit?
        do {
            let limit = RateLimit(1_000, per: .seconds(1))
            reference = limit
            let queue = OperationQueue()
            for number in 0..<10 { queue.add(.rate(limit), .rate(limit, by: number)) {} }
            await queue.drain()
        }
        #expect(await comesTrue { reference == nil })
    }

    @Test func badValuesAreRefused() async {
        var result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        { _ = RateLimit(-1, per: .seconds(1), name: "GitHub") }
        expect(result, says: "the limit 'GitHub' cannot be -1: use 0 or more")
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = RateLimit(1, per: .zero, name: "GitHub")
        }
        expect(result, says: "the limit 'GitHub' cannot have a period of 0.0 seconds")
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = RateLimit(1, per: .seconds(1), burst: 0, name: "GitHub")
        }
        expect(result, says: "the limit 'GitHub' cannot have a burst of 0: use 1 or more")
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let limit = RateLimit(1, per: .seconds(1), burst: 2, name: "GitHub")
            OperationQueue().add("fetch", .rate(limit, tokens: 3)) {}
        }
        expect(result, says: "'fetch' takes 3 tokens of 'GitHub', whose burst is only 2")
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = OperationTrait.rate(RateLimit(1, per: .seconds(1), name: "GitHub"), tokens: -1)
        }
        expect(result, says: "an operation cannot take -1 tokens of 'GitHub': use 0 or more")
    }

    /// A change reaches the buckets of all keys, more than one hold of the lock changes.
    @Test func changesReachTheBucketsOfAllKeys() throws {
        let starts = Starts()
        let limit = RateLimit(1, per: .seconds(1_000), burst: 1)
        let queue = starts.scheduler.makeQueue()
        for _ in 0..<4 {
            for key in 0..<100 { queue.add(.rate(limit, by: key), body: starts.note("\(key)")) }
        }
        try starts.scheduler.runUntilIdle()
        #expect(starts.events.events.count == 100 && limit.bucketCount == 100)
        limit.limit = 1_000
        try starts.scheduler.advance(by: .seconds(1))
        #expect(starts.events.events.count == 200)
        limit.limit = 0
        try starts.scheduler.advance(by: .seconds(10))
        #expect(starts.events.events.count == 200)
        limit.burst = 2
        limit.limit = 1_000
        try starts.scheduler.advance(by: .seconds(10))
        #expect(starts.events.events.count == 400)
    }

    /// What may start because of a change does so after the hold of the lock that has changed its
    /// bucket, and not after all buckets have changed. Each bucket reads the clock.
    @Test func oneHoldChangesFewOfManyBuckets() async throws {
        let (reads, clock) = (Tally(), TimeSource.continuous)
        let queue = OperationQueue()
        queue.time = TimeSource(
            now: {
                reads.increment()
                return clock.now()
            },
            scheduler: { clock.schedule(after: $0, named: $1, $2) })
        let limit = RateLimit(1, per: .seconds(1), name: "pages")
        limit.pause(for: .seconds(3_600))
        let operations = (0..<400).map { key in queue.add(.rate(limit, by: key)) {} }
        #expect(await comesTrue { operations.allSatisfy { !$0.isReady } })
        // The operations become ready on this thread, and no worker takes them.
        queue.isSuspended = true
        let before = reads.value
        let readsAtReadiness = TestRecorder<Int>()
        let observations = operations.map { operation in
            operation.observe(\.isReady) { _, _ in readsAtReadiness.record(reads.value - before) }
        }
        limit.resume()
        let first = try #require(readsAtReadiness.events.first)
        #expect(first < operations.count && readsAtReadiness.events.count == operations.count)
        for observation in observations { observation.invalidate() }
        queue.cancelAllOperations()
        queue.isSuspended = false
        await queue.drain()
    }
}
