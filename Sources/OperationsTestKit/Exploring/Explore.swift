import Operations
import OperationsRuntime

extension TestScheduler {
    /// Runs a body with many schedules, until the body fails or no schedule is left.
    ///
    /// ```swift
    /// try TestScheduler.explore(schedules: 1_000) { scheduler in
    ///     let account = Account(balance: 100)
    ///     let queue = scheduler.makeQueue()
    ///     queue.add { if account.balance >= 80 { await Task.yield(); account.withdraw(80) } }
    ///     queue.add { if account.balance >= 80 { await Task.yield(); account.withdraw(80) } }
    ///     try scheduler.run()
    ///     try scheduler.check(account.balance >= 0)
    /// }
    /// ```
    ///
    /// The first half of the schedules is systematic: first the schedule that switches as little as
    /// possible, then all schedules that differ from it by one choice, by two, and so on. This is
    /// the iterative context bounding of Musuvathi and Qadeer (PLDI 2007), which rests on the
    /// observation that most mistakes need very few switches. Each choice that is not the first
    /// option is counted, as in the delay bounding of Emmi, Qadeer and Rakamarić (POPL 2011). If
    /// fewer schedules than this half are possible, all of them are run, and the exploration ends.
    /// The second half chooses at random, which reaches mistakes deep in long schedules.
    ///
    /// A body fails by throwing: from ``check(_:_:fileID:line:)``, `try operation.result`, or
    /// ``TestScheduler/run()``. An exploration does not see the issues that Swift Testing records
    /// (`#expect`). Each run must make everything that it uses anew, and behave the same with the
    /// same scheduler. When the body has returned, operations left on the scheduler's queues are
    /// cancelled.
    ///
    /// - Parameters:
    ///   - schedules: how many schedules to run, at most; at least 1.
    ///   - seed: the seed of the random schedules; random by default. The failure contains it.
    ///   - body: the code to run, on the calling thread.
    /// - Returns: how many schedules were run, and whether these were all.
    /// - Throws: ``ExplorationFailure``, with the shortest schedule found that fails in the same
    ///   way.
    @discardableResult
    public static func explore(
        schedules: Int = 1_000, seed: UInt64? = nil, _ body: (TestScheduler) throws -> Void
    ) throws(ExplorationFailure) -> Exploration {
        if schedules < 1 {
            misuse("an exploration of \(schedules) schedules finds nothing: give it 1 or more")
        }
        let seed = seed ?? .random(in: 0..<1_000_000)
        var frontier = Frontier(limit: schedules - schedules / 2)
        var count = 0
        while count < schedules {
            let chooser: Chooser
            let prefix = frontier.next()
            if let prefix {
                chooser = Chooser(prescribed: prefix)
            } else if frontier.isComplete {
                return Exploration(scheduleCount: count, isComplete: true, seed: seed)
            } else {
                chooser = Chooser(seed: SplitMix64.seed(seed, number: count))
            }
            count += 1
            let attempt = Attempt(chooser, body)
            if attempt.error != nil {
                let (shortest, isRepeatable) = Shrinker.shortest(attempt, body)
                throw ExplorationFailure(
                    shortest, isRepeatable: isRepeatable, schedule: count, of: schedules, seed: seed
                )
            }
            if let prefix { frontier.went(prefix, attempt.decisions) }
        }
        return Exploration(
            scheduleCount: count, isComplete: frontier.isExhausted && frontier.isComplete,
            seed: seed)
    }
}

/// The extent of an exploration that found no failure.
public struct Exploration: Sendable {
    /// How many schedules were run.
    public let scheduleCount: Int
    /// Whether no other schedules are possible.
    public let isComplete: Bool
    /// The seed of the random schedules.
    public let seed: UInt64
}

extension SplitMix64 {
    /// Returns a seed for one of many schedules.
    fileprivate static func seed(_ seed: UInt64, number: Int) -> UInt64 {
        var generator = SplitMix64(seed: seed &+ UInt64(number) &* 0xD1B5_4A32_D192_ED03)
        return generator.next()
    }
}
