/// Why an operation does not run, or what it is doing; made by ``Operation/explain()``.
///
/// What was true while it was made: each part by itself, not all at one instant.
public struct OperationExplanation: Sendable, CustomStringConvertible {
    /// A reason, and how the operation depends on it.
    public struct Cause: Sendable, CustomStringConvertible {
        /// Names from the operation that was asked about to the one that the reason is about; each waits
        /// for the next.
        public let path: [String]
        /// What is true of the last one.
        public let reason: Reason

        /// A sentence without a full stop.
        public var description: String { reason.sentence(about: path) }
    }

    /// What is the matter with one operation.
    public enum Reason: Sendable, Equatable {
        /// It has finished.
        case finished(wasCancelled: Bool)
        /// It has finished, with this error.
        case failed(error: String)
        /// It was cancelled for this reason, and has finished.
        case cancelled(because: String)
        /// It runs; for at most so long, if that is known.
        ///
        /// The time is counted from when a worker took it up. Small blocks are taken up several at a
        /// time, and then it includes those that ran before it: less than a millisecond as a rule. It is
        /// known for block and ``AsyncOperation``s, and others that have a name or a completion block,
        /// when a queue started them.
        case executing(atMost: Duration?, queue: String?)
        /// Its code waits for the operations, or queues, with these names.
        case waitsInside(for: [String])
        /// It runs although it was cancelled, or its time is over, for this reason: its work has to return.
        case askedToStop(because: String)
        /// Its `main()` has returned, but its `isFinished`, which is overridden, says no.
        case goesOnAfterMain
        /// It depends on these, which have not finished; some of their states in parentheses.
        case dependencies([String])
        /// These wait for each other; the first is repeated at the end.
        case cycle([String])
        /// It is in no queue, and was not started.
        case notStarted
        /// It is a member of this group, which has not begun.
        case awaitsGroup(String)
        /// It was cancelled, but finishes only when it is started or added to a queue.
        case cancelledButNotStarted
        /// It was cancelled and leaves its queue as soon as a worker gets to it.
        case leaving(queue: String)
        /// It was added with a delay, of which so much is left.
        case delayed(Duration)
        /// It has failed with this error, and tries again in so much time.
        case waitsBeforeAttempt(Int, of: Int, time: Duration, error: String)
        /// It is periodic, and runs again in so much time.
        case waitsForNextRun(Duration)
        /// It costs so many units of a budget; so many are free, and so many operations are before it.
        case waitsForUnits(Int, of: String, free: Int, before: Int)
        /// As many operations with this key run as may; so many others are before it.
        case waitsForKey(String, limit: Int, before: Int)
        /// Its `isReady` is overridden and says no.
        case isReadyOverride
        /// Its queue is suspended.
        case queueSuspended(queue: String)
        /// Its queue has the width 0.
        case queueWithoutWidth(queue: String)
        /// As many operations of its queue run as may; these.
        case slotsTaken(width: Int, by: [String], queue: String)
        /// A barrier of its queue is before it, or it is one, and the operation named has not finished.
        case barrier(queue: String, behind: String)
        /// Its queue is strictly first in, first out, and the operation named, which was added before it, has
        /// not started.
        case strictOrder(queue: String, behind: String)
        /// Nothing holds it back: it starts when a worker is free, after better ones of its queue.
        case ready(queue: String, othersReady: Int)
        /// Nothing holds it back: it starts when the main thread serves the main dispatch queue.
        case awaitsMainThread
        /// Nothing holds it back: it starts when the test scheduler of its queue is run.
        case awaitsTestScheduler(queue: String)
        /// Nothing holds it back: it starts when its queue's `underlyingQueue`, named, comes to it.
        case awaitsUnderlyingQueue(queue: String, underlying: String)
    }

    /// First what is true of the operation itself, then of those it waits for, directly or not.
    public let causes: [Cause]
    /// How many more causes were found, and left out.
    public let omittedCount: Int

    /// A line for each cause.
    public var description: String {
        var lines = causes.map { "\($0)." }
        if omittedCount > 0 { lines.append("… and \(omittedCount) more.") }
        return lines.joined(separator: "\n")
    }
}

extension Operation {
    /// Says why the operation does not run, or what it is doing, down to the causes of the causes.
    ///
    /// For people who debug a program, and for its logs: print it. It reads what the operations are doing
    /// without stopping them, and asks `name` and `isReady`, which may be overridden, on the calling thread.
    ///
    /// - Complexity: O(operations that it waits for, and their edges; at most 10,000 of them), and O(n) for
    ///   each queue in which one of them is ready.
    public final func explain() -> OperationExplanation { Explainer([self]).explanation() }
}

extension OperationExplanation.Reason {
    /// - Parameter path: ends with the one that this is about.
    fileprivate func sentence(about path: [String]) -> String {
        let name = path.last ?? ""
        let sentence = sentence(about: name)
        if path.count < 2 { return sentence }
        // The middle of a long way says little.
        let elided =
            path.count <= 6
            ? path : path.prefix(3) + ["… \(path.count - 5) more …"] + path.suffix(2)
        return "\(elided.joined(separator: " → ")): \(sentence)"
    }

    private func sentence(about name: String) -> String {
        switch self {
        case .finished(let wasCancelled):
            "\(name) has finished\(wasCancelled ? "; it was cancelled" : "")"
        case .failed(let error): "\(name) failed: \(error)"
        case .cancelled(let reason): "\(name) was cancelled: \(reason)"
        case .executing: "\(name) is \(state)"
        case .waitsInside(let names): "\(name) is executing, and waits for \(names.listed)"
        case .askedToStop(let reason):
            "\(name) was told to stop, and ends when its work returns: \(reason)"
        case .goesOnAfterMain:
            "\(name) goes on after its main() has returned: its isFinished is overridden and says no"
        case .dependencies(let names): "\(name) waits for \(names.listed)"
        case .cycle(let names):
            "\(names.joined(separator: " → ")) is a cycle: cancel one of these operations, or remove "
                + "one of their dependencies"
        case .notStarted: "\(name) is in no queue and was not started: add it to a queue"
        case .awaitsGroup(let group): "\(name) starts when \(group) does, of which it is a member"
        case .cancelledButNotStarted:
            "\(name) was cancelled but cannot finish, because it is in no queue and was not started: "
                + "add it to a queue or call start()"
        case .leaving(let queue): "\(name) was cancelled and is about to leave \(queue)"
        case .delayed(let time): "\(name) is delayed for \(time.text)"
        case .waitsBeforeAttempt(let attempt, let limit, let time, let error):
            "\(name) waits \(time.text) before attempt \(attempt) of \(limit): \(error)"
        case .waitsForNextRun(let time): "\(name) waits \(time.text) for its next run"
        case .waitsForUnits(let units, let budget, let free, let before):
            "\(name) waits for \(units) of '\(budget)', \(free) \(free == 1 ? "is" : "are") free"
                + before.others
        case .waitsForKey(let key, let limit, let before):
            "\(name) waits for its turn: \(limit) at a time with the key \(key)" + before.others
        case .isReadyOverride: "\(name) waits: its isReady is overridden and says no"
        case .queueSuspended(let queue): "\(name) is ready, but \(queue) is suspended"
        case .queueWithoutWidth(let queue):
            "\(name) is ready, but maxConcurrentOperationCount of \(queue) is 0"
        case .slotsTaken(1, let names, let queue):
            "\(name) is ready, but the only slot of \(queue) is taken by \(names.listed)"
        case .slotsTaken(let width, let names, let queue):
            "\(name) is ready, but \(names.count) of \(width) slots of \(queue) are taken by "
                + names.listed
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
        case .awaitsMainThread:
            "\(name) is ready, and starts as soon as the main thread serves the main dispatch queue, in "
                + "dispatchMain(), an async main function or a run loop"
        case .awaitsTestScheduler(let queue):
            "\(name) is ready, and starts when the test scheduler of \(queue) is run"
        case .awaitsUnderlyingQueue(let queue, let underlying):
            "\(name) is ready, and starts as soon as dispatch queue '\(underlying)', which runs \(queue), "
                + "comes to it"
        }
    }

    /// What stands in parentheses behind a name.
    var state: String {
        switch self {
        case .finished, .cancelled: return "finished"
        case .failed: return "failed"
        case .executing(let time, let queue):
            let time = time.map { " for \($0.text)" } ?? ""
            let place = queue.map { " on \($0)" } ?? ""
            return "executing\(time)\(place)"
        case .waitsInside: return "executing, waiting itself"
        case .askedToStop, .goesOnAfterMain: return "executing"
        case .dependencies, .isReadyOverride, .cycle, .delayed, .waitsBeforeAttempt,
            .waitsForNextRun, .waitsForUnits, .waitsForKey, .awaitsGroup:
            return "waiting"
        case .notStarted: return "in no queue and not started"
        case .cancelledButNotStarted: return "cancelled, but in no queue and not started"
        case .leaving: return "cancelled"
        case .queueSuspended, .queueWithoutWidth, .slotsTaken, .barrier, .strictOrder, .ready,
            .awaitsMainThread, .awaitsTestScheduler, .awaitsUnderlyingQueue:
            return "ready"
        }
    }
}

extension Int {
    /// So many are before somebody in a line.
    fileprivate var others: String {
        self == 0 ? "" : ", and \(self == 1 ? "1 other is" : "\(self) others are") before it"
    }
}

extension [String] {
    /// The first few, and how many more.
    var listed: String {
        count <= 5
            ? joined(separator: ", ")
            : "\(prefix(4).joined(separator: ", ")) and \(count - 4) more"
    }
}
