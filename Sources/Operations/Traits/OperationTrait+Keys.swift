import OperationsRuntime

extension OperationTraitOrName where Self == OperationTrait {
    /// Joins an operation with the same key that is under way in the queue, instead of adding a
    /// second one.
    ///
    /// `add` then returns the operation that is under way: one that has not finished and was not
    /// cancelled. The returned operation keeps its own name, traits and body. An operation that the
    /// caller made, and that could join another when it is added, is cancelled
    /// (``CancellationReason/duplicate(of:)``), because there is nothing to return.
    ///
    /// - Precondition: operations of one key have the same type of result. A different type stops
    ///   the program.
    public static func deduplicated(by key: some Hashable & Sendable) -> OperationTrait {
        let key = OperationKey(key)
        return OperationTrait { $0.joinedKey = key }
    }

    /// Cancels the unfinished operation with the same key in the queue, so that the latest wins.
    ///
    /// The reason of that cancellation is ``CancellationReason/replaced(by:)``.
    public static func coalesced(by key: some Hashable & Sendable) -> OperationTrait {
        let key = OperationKey(key)
        return OperationTrait { $0.latestKey = key }
    }

    /// Starts the operation when no other one with its key has been added for a while.
    ///
    /// ```swift
    /// queue.add(.debounced(by: "save", .milliseconds(300), atMost: .seconds(2))) { try save() }
    /// ```
    ///
    /// Each addition cancels the operation with the same key that still waits for its pause
    /// (``CancellationReason/replaced(by:)``), and waits itself. Meanwhile an operation takes no
    /// slot. An operation whose pause is over runs, whatever is added after that: to cancel that
    /// one, too, add the trait ``coalesced(by:)``.
    ///
    /// - Parameters:
    ///   - key: a value that the operations have in common.
    ///   - pause: how long nothing is added before the operation starts. Zero or less is no pause.
    ///   - longest: how long the start can be put off in all by further additions; without end if
    ///     nil.
    public static func debounced(
        by key: some Hashable & Sendable, _ pause: Duration, atMost longest: Duration? = nil
    ) -> OperationTrait {
        let debounce = OperationOptions.Debounce(
            key: OperationKey(key), pause: pause.limitedToLongestTime,
            longest: longest?.limitedToLongestTime)
        return OperationTrait { $0.debounce = debounce }
    }

    /// Starts the first operation of a key at once, and then at most one in each interval: the one
    /// that was added last.
    ///
    /// ```swift
    /// queue.add(.throttled(by: "progress", .seconds(1))) { show(progress) }
    /// ```
    ///
    /// An operation that is added within the interval after a start waits for the end of the
    /// interval, without a slot, and takes the place of another one that waits for it
    /// (``CancellationReason/replaced(by:)``). So the last one is not lost. The interval counts
    /// from when an operation was due to start, whenever a worker came to it.
    ///
    /// - Parameters:
    ///   - key: a value that the operations have in common.
    ///   - interval: the time between two starts. Zero or less has no effect.
    public static func throttled(
        by key: some Hashable & Sendable, _ interval: Duration
    ) -> OperationTrait {
        let throttle = OperationOptions.Throttle(
            key: OperationKey(key), interval: max(.zero, interval.limitedToLongestTime))
        return OperationTrait { $0.throttle = throttle }
    }

    /// Runs the operations with the same key in a queue one at a time, in the order in which the
    /// queue reaches them.
    ///
    /// An operation that waits for its turn takes no slot.
    public static func exclusive(by key: some Hashable & Sendable) -> OperationTrait {
        let limit = OperationOptions.Limit(key: OperationKey(key), count: 1, isExclusive: true)
        return OperationTrait { $0.limits.append(limit) }
    }

    /// Runs at most `count` operations with the same key in a queue at a time, in the order in
    /// which the queue reaches them.
    ///
    /// As ``exclusive(by:)``, but the keys of the two traits are independent of each other. If
    /// operations name different limits for one key, the limit of the operation added last counts
    /// for all.
    ///
    /// - Parameters:
    ///   - count: at least 1.
    ///   - key: a value that the operations have in common, a host for example.
    public static func limited(
        to count: Int, by key: some Hashable & Sendable
    ) -> OperationTrait {
        if count < 1 {
            misuse("operations with the key \(key) cannot be limited to \(count): use 1 or more")
        }
        let limit = OperationOptions.Limit(key: OperationKey(key), count: count, isExclusive: false)
        return OperationTrait { $0.limits.append(limit) }
    }

    /// Makes the operation one of a group, so that the groups of a queue take turns.
    ///
    /// ```swift
    /// queue.add(.group(request.tenant)) { try await handle(request) }
    /// ```
    ///
    /// Where many operations of one tenant wait, those of another need not wait behind all of them.
    /// Among ready operations of one ``Operation/queuePriority``, the groups start operations in
    /// turn, in proportion to their weights: a group of weight 2 starts two where one of weight 1
    /// starts one. A group alone gets every slot of the queue. Turns that a group does not use are
    /// lost: it cannot save them up. Operations without this trait are one group, of weight 1.
    ///
    /// Within a group the ``OperationQueue/order`` of the queue decides, and so do deadlines. With
    /// ``OperationQueue/aging``, an operation that has risen goes before the groups of lower
    /// priorities. In the order ``OperationQueueOrder/fifo`` the trait has no effect, nor has it in
    /// the main queue. What counts are starts, not the time that operations take.
    ///
    /// - Parameters:
    ///   - key: a value that the operations of the group have in common.
    ///   - weight: the share of the turns, from 1 to 1,000,000. It belongs to the operation: if
    ///     operations of a group differ, each counts with its own.
    /// - Complexity: O(log n) to add and to start an operation. A group costs memory while
    ///   operations of it wait, and then until the others have had as many turns.
    public static func group(
        _ key: some Hashable & Sendable, weight: Int = 1
    ) -> OperationTrait {
        if !(1...1_000_000).contains(weight) {
            misuse("a group cannot have the weight \(weight): use 1 to 1,000,000")
        }
        let group = OperationOptions.Group(key: OperationKey(key), weight: weight)
        return OperationTrait { $0.group = group }
    }

    /// The number of permits of a budget that the operation uses while it runs; see
    /// ``ConcurrencyBudget``.
    ///
    /// Costs of several budgets, and several costs of one budget, add up.
    ///
    /// - Parameters:
    ///   - permits: not negative.
    ///   - budget: the budget, shared by operations of any number of queues.
    /// - Precondition: when the operation is added, the budget has, or once had, so many permits.
    ///   Otherwise the operation could never start: this stops the program.
    public static func cost(_ permits: Int, of budget: ConcurrencyBudget) -> OperationTrait {
        if permits < 0 {
            misuse("an operation cannot cost \(permits) of \(budget.label): use 0 or more")
        }
        return OperationTrait {
            $0.costs.append(PermitRequest.Cost(budget: budget, permits: permits))
        }
    }

    /// Takes a token of a rate limit for each attempt; see ``RateLimit``.
    ///
    /// - Parameters:
    ///   - limit: the limit, shared by operations of any number of queues.
    ///   - tokens: how many tokens an attempt takes; not negative.
    /// - Precondition: when the operation is added, the limit has, or once had, a burst of so many
    ///   tokens. Otherwise the operation could never start: this stops the program.
    public static func rate(_ limit: RateLimit, tokens: Int = 1) -> OperationTrait {
        rate(limit, key: nil, tokens)
    }

    /// Takes a token of the key's own bucket for each attempt.
    ///
    /// ```swift
    /// let polite = RateLimit(1, per: .seconds(2), name: "one host")
    /// queue.add(.rate(polite, by: url.host)) { try await fetch(url) }
    /// ```
    ///
    /// Each key has a bucket with the rate and the burst of the limit. A bucket that has become
    /// full and that no operation needs costs nothing in the long run: it is removed.
    ///
    /// - Parameters:
    ///   - limit: the limit, shared by operations of any number of queues.
    ///   - key: a value that the operations have in common, a host or a user for example.
    ///   - tokens: how many tokens an attempt takes; not negative.
    public static func rate(
        _ limit: RateLimit, by key: some Hashable & Sendable, tokens: Int = 1
    ) -> OperationTrait {
        rate(limit, key: OperationKey(key), tokens)
    }

    private static func rate(
        _ limit: RateLimit, key: OperationKey?, _ tokens: Int
    ) -> OperationTrait {
        if tokens < 0 {
            misuse("an operation cannot take \(tokens) tokens of '\(limit.name)': use 0 or more")
        }
        let rate = OperationOptions.Rate(limit: limit, key: key, tokens: tokens)
        return OperationTrait { $0.rates.append(rate) }
    }
}
