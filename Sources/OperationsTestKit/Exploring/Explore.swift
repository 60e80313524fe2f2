import Operations

/// Runs a body with many schedules, until it fails or none is left.
///
/// ```swift
/// try explore(schedules: 1_000) { scheduler in
///     let account = Account(balance: 100)
///     let queue = scheduler.makeQueue()
///     queue.add { if account.balance >= 80 { await Task.yield(); account.withdraw(80) } }
///     queue.add { if account.balance >= 80 { await Task.yield(); account.withdraw(80) } }
///     try scheduler.run()
///     try check(account.balance >= 0)
/// }
/// ```
///
/// The first half of the schedules is systematic: the one that switches as little as possible, then all that
/// differ from it by one choice, by two, and so on. This is the iterative context bounding of Musuvathi and
/// Qadeer (PLDI 2007), whose point is that most mistakes need very few switches, with each choice counted that
/// is not the first, as in the delay bounding of Emmi, Qadeer and Rakamarić (POPL 2011). If fewer schedules
/// than that are possible, all have been run, and it ends. The second half chooses at random, which reaches
/// what lies deep in long schedules.
///
/// A body fails by throwing: from ``check(_:_:fileID:line:)``, `try operation.result`, or
/// ``TestScheduler/run()``. The issues that Swift Testing records (`#expect`) are not seen from here. Each run
/// must make all that it uses anew, and do the same with the same scheduler. When the body has returned, what
/// is left on the scheduler's queues is cancelled.
///
/// - Parameters:
///   - schedules: how many to run, at most; at least 1.
///   - seed: for those that are chosen at random; a random one unless given. The failure has it.
///   - body: what to run, on the calling thread.
/// - Returns: how many schedules were run, and whether these were all.
/// - Throws: ``ExplorationFailure``, with the shortest schedule that was found to fail in the same way.
@discardableResult
public func explore(
    schedules: Int = 1_000, seed: UInt64? = nil, _ body: (TestScheduler) throws -> Void
) throws(ExplorationFailure) -> Exploration {
    if schedules < 1 {
        misuse("an exploration of \(schedules) schedules finds nothing: give it 1 or more")
    }
    let seed = seed ?? .random(in: 0..<1_000_000)
    var frontier = Frontier(limit: (schedules + 1) / 2)
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
                shortest, isRepeatable: isRepeatable, schedule: count, of: schedules, seed: seed)
        }
        if let prefix { frontier.went(prefix, attempt.decisions) }
    }
    return Exploration(
        scheduleCount: count, isComplete: frontier.isExhausted && frontier.isComplete, seed: seed)
}

/// What an exploration that found nothing has looked at.
public struct Exploration: Sendable {
    /// How many schedules were run.
    public let scheduleCount: Int
    /// Whether there are no others.
    public let isComplete: Bool
    /// The seed of those that were chosen at random.
    public let seed: UInt64
}

extension SplitMix64 {
    /// A seed for each of many schedules.
    fileprivate static func seed(_ seed: UInt64, number: Int) -> UInt64 {
        var generator = SplitMix64(seed: seed &+ UInt64(number) &* 0xD1B5_4A32_D192_ED03)
        return generator.next()
    }
}
