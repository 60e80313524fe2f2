import OperationsRuntime

/// Why an operation does not run, or what it is doing; made by ``Operation/explain()``.
///
/// Each part was true at some moment while the explanation was made, but not all parts at the same
/// instant.
public struct OperationExplanation: Sendable, CustomStringConvertible {
    /// A reason, and the path by which the explained operation depends on it.
    public struct Cause: Sendable, CustomStringConvertible {
        /// The names of the operations from the explained one to the one that the reason is about;
        /// each waits for the next.
        public let path: [String]
        /// The reason, which is about the last operation of the path.
        public let reason: Reason

        /// The explanation in words, without a full stop.
        public var description: String { reason.sentence(about: path) }
    }

    /// The state of one operation, or the reason why it does not run.
    public enum Reason: Sendable, Equatable {
        /// The operation has finished.
        case finished(wasCancelled: Bool)
        /// The operation has finished with this error.
        case failed(error: String)
        /// The operation was cancelled for this reason, and has finished, unless another reason
        /// says what keeps it.
        case cancelled(because: String)
        /// The operation runs, for at most this long if the time is known.
        ///
        /// The time is counted from the moment when a worker claimed the operation. Small blocks
        /// are claimed several at a time; then the time includes the blocks that ran before this
        /// one, which is less than a millisecond as a rule. The time is known if a queue started
        /// the operation, and the operation is a block operation, a ``TypedOperation``, or one
        /// that has a name or a completion block.
        case executing(atMost: Duration?, queue: String?)
        /// The operation is a run of a graph of blocks (``BlockGraph``), of whose nodes some have
        /// ended, those with these names run, and so many others are ready.
        case runningNodes(ended: Int, of: Int, running: [String], ready: Int, queue: String)
        /// The operation's body waits for the operations or queues with these names.
        case waitingInBody(for: [String])
        /// The operation was cancelled for this reason, or its time is over, while its body runs;
        /// it ends when the body returns.
        case cancellationRequested(because: String)
        /// The operation's `main()` has returned, but its overridden `isFinished` returns false.
        case mainReturned
        /// The operation's overridden `isFinished` returns true, but nothing announced that: its
        /// queue, and what waits for it, learn of the end only by
        /// ``Operation/didChangeValue(forKey:)``.
        case finishedUnannounced
        /// The operation waits for these dependencies, which have not finished; some names have a
        /// state in parentheses.
        case dependencies([String])
        /// The operation waits for the first success among these operations, which have not
        /// finished.
        case firstSuccess(of: [String])
        /// These operations wait for each other; the first is repeated at the end.
        case cycle([String])
        /// The operation is in no queue and was not started.
        case notStarted
        /// The operation is a member of this group, which has not begun.
        case waitingForGroup(String)
        /// The operation was cancelled, but finishes only when it is started or added to a queue.
        case cancelledButNotStarted
        /// The operation was cancelled, and leaves its queue as soon as a worker gets to it.
        case leaving(queue: String)
        /// The operation was added with a delay, of which this much is left.
        case delayed(Duration)
        /// The operation failed with this error. The given attempt, of so many at most, begins
        /// after this delay. `Int.max` stands for any number of attempts.
        case waitingToRetry(attempt: Int, of: Int, delay: Duration, error: String)
        /// The operation is periodic, and runs again after this time.
        case waitingForNextRun(Duration)
        /// The operation needs this many permits of a budget, of which `available` are free; the
        /// number of operations in line before this one is `ahead`.
        case waitingForPermits(Int, of: String, available: Int, ahead: Int)
        /// The operation needs this many tokens of a rate limit, whose bucket holds `available` of
        /// at most `burst`. There are enough after the time `next`, if no other operation takes
        /// them; nil if no tokens come. `isClosed` says that the program has paused the limit. The
        /// number of operations in line before this one is `ahead`.
        case waitingForTokens(
            Int, of: String, available: Int, burst: Int, next: Duration?, isClosed: Bool,
            ahead: Int)
        /// The limit of operations with this key is reached; the number of operations in line
        /// before this one is `ahead`.
        case waitingForKey(String, limit: Int, ahead: Int)
        /// The operation's `isReady` is overridden and returns false.
        case isReadyOverride
        /// The operation's queue is suspended.
        case queueSuspended(queue: String)
        /// The operation's queue has the width 0.
        case queueWidthIsZero(queue: String)
        /// All slots of the operation's queue are taken, by these operations.
        case slotsTaken(width: Int, by: [String], queue: String)
        /// All slots of the operation's queue are taken, and the group of the operation, which is
        /// empty for operations without one, is one of so many that take turns.
        case waitingForTurn(of: String, groups: Int)
        /// A barrier of the operation's queue is ahead of the operation, or the operation is a
        /// barrier itself, and the named operation has not finished.
        case barrier(queue: String, behind: String)
        /// The operation's queue is strictly first in, first out, and the named operation, which
        /// was added earlier, has not started.
        case strictOrder(queue: String, behind: String)
        /// Nothing holds the operation back. It starts when a worker is free, after the operations
        /// of its queue that come first.
        case ready(queue: String, othersReady: Int)
        /// Nothing holds the operation back. It starts when the main thread serves the main
        /// dispatch queue.
        case waitingForMainThread
        /// Nothing holds the operation back. It starts when the test scheduler of its queue is run.
        case waitingForTestScheduler(queue: String)
        /// Nothing holds the operation back. It starts when its queue's `underlyingQueue`, which is
        /// named, comes to it.
        case waitingForUnderlyingQueue(queue: String, underlying: String)
    }

    /// The causes: first those of the operation itself, then those of the operations it waits for,
    /// directly or indirectly.
    public let causes: [Cause]
    /// The number of further causes that were found and left out.
    public let omittedCount: Int

    /// A line for each cause.
    public var description: String {
        var lines = causes.map { "\($0)." }
        if omittedCount > 0 { lines.append("… and \(omittedCount) more.") }
        return lines.joined(separator: "\n")
    }
}

extension OperationExplanation.Reason {
    /// - Parameter path: the names of the operations; the sentence is about the last one.
    fileprivate func sentence(about path: [String]) -> String {
        let name = path.last ?? ""
        let sentence = sentence(about: name)
        if path.count < 2 { return sentence }
        // The middle of a long path says little.
        let elided =
            path.count <= 6
            ? path : path.prefix(3) + ["… \(path.count - 5) more …"] + path.suffix(2)
        return "\(elided.joined(separator: " → ")): \(sentence)"
    }

    /// - Parameter place: the queue on which an operation runs whose body waits, if that is to be
    ///   said.
    func sentence(about name: String, on place: String? = nil) -> String {
        switch self {
        case .finished(let wasCancelled):
            "\(name) has finished\(wasCancelled ? "; it was cancelled" : "")"
        case .failed(let error): "\(name) failed: \(error)"
        case .cancelled(let reason): "\(name) was cancelled: \(reason)"
        case .executing: "\(name) is \(state)"
        case .runningNodes(let ended, let count, let running, let ready, let queue):
            "\(name) is executing on \(queue): \(ended) of its \(count) nodes "
                + "\(ended == 1 ? "has" : "have") ended, "
                + (running.isEmpty ? "none" : running.listed)
                + " \(running.count < 2 ? "runs" : "run"), "
                + "and \(ready) \(ready == 1 ? "is" : "are") ready"
        case .waitingInBody(let names):
            "\(name) is executing\(place.map { " on \($0)" } ?? ""), and waits for \(names.listed)"
        case .cancellationRequested(let reason):
            "\(name) was told to stop, and ends when its work returns: \(reason)"
        case .mainReturned:
            "\(name) goes on after its main() has returned: its isFinished is overridden and returns false"
        case .finishedUnannounced: OperationsDiagnostics.unannouncedEnd(of: name)
        case .dependencies(let names): "\(name) waits for \(names.listed)"
        case .firstSuccess(let names): "\(name) waits for the first success of \(names.listed)"
        case .cycle(let names):
            "\(names.joined(separator: " → ")) is a cycle: cancel one of these operations, or remove "
                + "one of their dependencies"
        case .notStarted: "\(name) is in no queue and was not started: add it to a queue"
        case .waitingForGroup(let group):
            "\(name) starts when \(group) does, of which it is a member"
        case .cancelledButNotStarted:
            "\(name) was cancelled but cannot finish, because it is in no queue and was not started: "
                + "add it to a queue or call start()"
        case .leaving(let queue): "\(name) was cancelled and is about to leave \(queue)"
        case .delayed(let time): "\(name) is delayed for \(time.text)"
        case .waitingToRetry(let attempt, let limit, let time, let error):
            "\(name) waits \(time.text) before attempt \(attempt)"
                + "\(limit == .max ? "" : " of \(limit)"): \(error)"
        case .waitingForNextRun(let time): "\(name) waits \(time.text) for its next run"
        case .waitingForPermits(let permits, let budget, let free, let ahead):
            "\(name) waits for \(permits) of '\(budget)', \(free) \(free == 1 ? "is" : "are") free"
                + ahead.others
        case .waitingForTokens(
            let count, let limit, let free, let burst, let time, let isClosed, let ahead):
            "\(name) waits for \(count == 1 ? "a token" : "\(count) tokens") of '\(limit)' "
                + "(\(free) of \(burst)\(isClosed ? ", closed" : "")"
                + (time.map { isClosed ? " for \($0.text))" : ", next in \($0.text))" } ?? ")")
                + ahead.others
        case .waitingForKey(let key, let limit, let ahead):
            "\(name) waits for its turn: \(limit) at a time with the key \(key)" + ahead.others
        case .isReadyOverride: "\(name) waits: its isReady is overridden and returns false"
        case .queueSuspended(let queue): "\(name) is ready, but \(queue) is suspended"
        case .queueWidthIsZero(let queue):
            "\(name) is ready, but maxConcurrentOperationCount of \(queue) is 0"
        case .slotsTaken(1, let names, let queue):
            "\(name) is ready, but the only slot of \(queue) is taken by \(names.listed)"
        case .slotsTaken(let width, let names, let queue):
            "\(name) is ready, but \(names.count) of \(width) slots of \(queue) are taken by "
                + names.listed
        case .waitingForTurn(let group, let count):
            "\(name) starts when its turn comes: "
                + (group.isEmpty ? "operations without a group are" : "its group \(group) is")
                + " one of \(count) that take turns"
        case .barrier(let queue, let before):
            "\(name) is ready, but a barrier of \(queue) lets it start only after \(before)"
        case .strictOrder(let queue, let before):
            "\(name) is ready, but its \(queue.hasPrefix("queue ") ? queue : "queue") is strictly first in, "
                + "first out, and \(before) before it has not started"
        case .ready(let queue, let others):
            others == 0
                ? "\(name) is ready, and starts as soon as a worker is free"
                : "\(name) is ready, as \(others == 1 ? "is 1 other" : "are \(others) others") of "
                    + "\(queue), and starts when its turn comes"
        case .waitingForMainThread:
            "\(name) is ready, and starts as soon as the main thread serves the main dispatch queue, in "
                + "dispatchMain(), an async main function or a run loop"
        case .waitingForTestScheduler(let queue):
            "\(name) is ready, and starts when the test scheduler of \(queue) is run"
        case .waitingForUnderlyingQueue(let queue, let underlying):
            "\(name) is ready, and starts as soon as dispatch queue '\(underlying)', which runs \(queue), "
                + "comes to it"
        }
    }

    /// The text in parentheses after a name.
    var state: String {
        switch self {
        case .finished, .cancelled: return "finished"
        case .failed: return "failed"
        case .executing(let time, let queue):
            let time = time.map { " for \($0.text)" } ?? ""
            let place = queue.map { " on \($0)" } ?? ""
            return "executing\(time)\(place)"
        case .runningNodes: return "executing"
        case .waitingInBody: return "executing, waiting itself"
        case .cancellationRequested, .mainReturned: return "executing"
        case .finishedUnannounced: return "finished, but not announced"
        case .dependencies, .firstSuccess, .isReadyOverride, .cycle, .delayed, .waitingToRetry,
            .waitingForNextRun, .waitingForPermits, .waitingForTokens, .waitingForKey,
            .waitingForGroup:
            return "waiting"
        case .notStarted: return "in no queue and not started"
        case .cancelledButNotStarted: return "cancelled, but in no queue and not started"
        case .leaving: return "cancelled"
        case .queueSuspended, .queueWidthIsZero, .slotsTaken, .waitingForTurn, .barrier,
            .strictOrder, .ready,
            .waitingForMainThread, .waitingForTestScheduler, .waitingForUnderlyingQueue:
            return "ready"
        }
    }
}

extension Int {
    /// The clause that says how many others are ahead in a line; empty if there are none.
    fileprivate var others: String {
        self == 0 ? "" : ", and \(self == 1 ? "1 other is" : "\(self) others are") before it"
    }
}
