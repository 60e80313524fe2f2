/// A use of an operation or a queue that cannot work, and that a correct program does not make.
///
/// The usual methods stop the program with ``description``, or report it if
/// ``OperationsDiagnostics/mistakePolicy`` says so. Their variants, whose names end in `Checked`,
/// throw this error instead, for programs whose graphs come from data. When the error is thrown,
/// nothing has changed.
public struct OperationMisuse: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of a misuse.
    public enum Kind: Sendable, Equatable {
        /// The operation is already executing, so it can neither be started nor added to a queue.
        case alreadyExecuting
        /// The operation was started by hand while its `isReady` was false.
        case notReady
        /// The operation is in a queue, or on its way into one, so it can neither be started by
        /// hand nor added to a queue.
        case inQueue
        /// The operation has finished and cannot run again.
        case alreadyFinished
        /// The array holds the operation more than once.
        case duplicateOperation
        /// The operation was to depend on itself.
        case selfDependency
        /// The dependency would close a cycle. The names are those of the cycle's members in
        /// quotes, as in messages: each waits for the next, and the first is repeated at the end.
        case dependencyCycle([String])
        /// A block was added to an operation that has begun to execute.
        case blockAddedAfterStart
        /// This number cannot be a queue's width.
        case invalidWidth(Int)
        /// The underlying queue was to be changed while operations are in the queue.
        case queueNotEmpty
        /// A queue of a test scheduler cannot have an underlying queue.
        case controlledByTestScheduler
        /// The operation costs more permits than its budget has ever had.
        case costTooHigh(cost: Int, permits: Int)
        /// The queue belonged to a `withOperationQueue` call that has returned.
        case scopeEnded
        /// Traits were applied to an operation that is in a queue, or has begun.
        case traitsAppliedTooLate
        /// An operation waits, in its body, for what can never end before the body has.
        case endlessWait
        /// An operation was to join another one by its key, whose result is of another type.
        case otherResultType
    }

    /// The kind of misuse, for programs.
    public let kind: Kind
    /// A message that names the operation or queue and its state, and says what to do, without a
    /// full stop.
    public let description: String

    private init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.description = message
    }
}

// The messages about misuses.

extension OperationMisuse {
    static func starting(executing operation: some CustomStringConvertible) -> Self {
        Self(.alreadyExecuting, "\(operation) is already executing: start an operation only once")
    }

    static func startingTwice(_ operation: some CustomStringConvertible) -> Self {
        Self(
            .alreadyExecuting,
            "\(operation) was started by two threads at the same time: start it only once")
    }

    static func starting(enqueued operation: some CustomStringConvertible) -> Self {
        Self(
            .inQueue,
            "\(operation) is in a queue, which will start it: do not call start() yourself")
    }

    /// - Parameter unfinished: the names of the dependencies that the operation waits for; none if
    ///   its override of `isReady` holds it back.
    static func starting(
        unready operation: some CustomStringConvertible, unfinished: [String]
    ) -> Self {
        let reason =
            unfinished.isEmpty
            ? "its isReady is overridden and returns false"
            : "it waits for \(unfinished.joined(separator: ", "))"
        return Self(
            .notReady, "\(operation) is not ready: \(reason); start it when isReady is true")
    }

    static func adding(executing operation: some CustomStringConvertible) -> Self {
        Self(
            .alreadyExecuting,
            "\(operation) is executing already: add it to a queue or start it, not both")
    }

    static func adding(finished operation: some CustomStringConvertible) -> Self {
        Self(
            .alreadyFinished,
            "\(operation) has finished, and runs only once: make a new operation")
    }

    static func adding(enqueued operation: some CustomStringConvertible) -> Self {
        Self(
            .inQueue,
            "\(operation) is in a queue already: make a new operation for each addition")
    }

    static func addingTwice(_ label: String) -> Self {
        // The message leaves out the operation's state, which depends on how far the addition had
        // come.
        Self(
            .duplicateOperation,
            "\(label) is given twice in one array of operations: "
                + "make a new operation for each addition")
    }

    static func adding(afterScope operation: some CustomStringConvertible) -> Self {
        Self(
            .scopeEnded,
            "\(operation) was added to the queue of a withOperationQueue that has returned: add it in "
                + "its body or in an operation of it, or use a queue of your own")
    }

    static func selfDependency(_ operation: some CustomStringConvertible) -> Self {
        Self(
            .selfDependency,
            "\(operation) cannot depend on itself: remove this addDependency call")
    }

    static func dependencyCycle(_ names: [String]) -> Self {
        Self(
            .dependencyCycle(names),
            "the dependency would close a cycle, \(names.joined(separator: " → ")), in which nothing "
                + "can start: leave it out, or remove another one of the cycle first")
    }

    static func addingBlock(to operation: some CustomStringConvertible) -> Self {
        Self(
            .blockAddedAfterStart,
            "\(operation) takes no more blocks: add them before it starts")
    }

    static func cost(_ cost: Int, of budget: String, permits: Int, by label: String) -> Self {
        Self(
            .costTooHigh(cost: cost, permits: permits),
            "\(label) costs \(cost) of \(budget), which has only \(permits): it could never "
                + "start; lower the cost, or raise the permits of the budget first")
    }

    static func tokens(_ tokens: Int, of limit: String, burst: Int, by label: String) -> Self {
        Self(
            .costTooHigh(cost: tokens, permits: burst),
            "\(label) takes \(tokens) tokens of '\(limit)', whose burst is only \(burst): it could "
                + "never start; take fewer tokens, or raise the burst first")
    }

    static func width(_ width: Int, of queue: String) -> Self {
        Self(
            .invalidWidth(width),
            "maxConcurrentOperationCount of \(queue) cannot be \(width): "
                + "use 0 or more, or defaultMaxConcurrentOperationCount")
    }
}

/// Stops the program because of a mistake in its code.
package func misuse(_ message: String) -> Never {
    fatalError("Operations: \(message).")
}

extension OperationMisuse {
    static func traits(for operation: some CustomStringConvertible) -> Self {
        Self(
            .traitsAppliedTooLate,
            "\(operation) takes no more traits: apply them before it is added to a queue")
    }

    static func joining(
        _ other: String, of otherType: Any.Type, with key: some CustomStringConvertible,
        in queue: String, by type: Any.Type
    ) -> Self {
        Self(
            .otherResultType,
            "\(other) with the key \(key) is under way in \(queue) and is a \(otherType), not a "
                + "\(type): use different keys for operations with different results")
    }

    static func sharing(
        with key: some CustomStringConvertible, in queue: String, by type: Any.Type
    ) -> Self {
        Self(
            .otherResultType,
            "shared work with the key \(key) is under way in \(queue) and does not return \(type): "
                + "use different keys for work with different results")
    }

    static func ownWait(by operation: some CustomStringConvertible) -> Self {
        .endlessWait("\(operation) waits for itself and would never finish: remove this wait")
    }

    static func ownWait(by operation: some CustomStringConvertible, for queue: String) -> Self {
        .endlessWait(
            "\(operation) waits for all operations of its own \(queue), itself included, and would "
                + "never finish: remove this wait")
    }

    static func endlessWait(_ message: String) -> Self { Self(.endlessWait, message) }

    static func underlyingQueueOfDriven(_ queue: String) -> Self {
        Self(
            .controlledByTestScheduler,
            "underlyingQueue of \(queue) cannot be set, because its test scheduler runs it: use a "
                + "queue made by OperationQueue()")
    }

    static func underlyingQueueChange(of queue: String) -> Self {
        Self(
            .queueNotEmpty,
            "underlyingQueue of \(queue) cannot be changed while operations are in it: "
                + "set it before the first is added, or wait until all have finished")
    }
}

/// The result of the default `start()`, for ``Operation/startChecked()``.
struct CheckedStart {
    let operation: ObjectIdentifier
    var misuse: OperationMisuse?
}
