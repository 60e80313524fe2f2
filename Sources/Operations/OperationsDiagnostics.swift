import OperationsRuntime
import Synchronization

/// Findings of the library about a program that goes on running.
public enum OperationsDiagnostics {
    /// Something that is probably a mistake.
    public enum Finding: Sendable, CustomStringConvertible {
        /// Operations that wait for each other, by name in quotes, as in messages; one without a
        /// name has its place or its class. The first is repeated at the end. At least one
        /// operation in a queue waits for them, or is one of them.
        case dependencyCycle([String])
        /// Operations that wait for each other, by name, not only because they depend on each
        /// other: a barrier, a strict order, a group or a wait in a body holds some of them back.
        /// The first name is repeated at the end. The sentence says for each what it waits for.
        case circularWait([String], because: String)
        /// The main thread waits for the operation or queue named here, while operations of the
        /// main queue, or of that queue, or bodies on the main actor wait for the main thread.
        case mainThreadWait(String)
        /// An operation failed, and nothing read its error or result before the operation, and
        /// every operation that was cancelled because of it, was released.
        case unobservedFailure(operation: String, error: any Error)
        /// The body of an operation, which does not await, went on for a second or longer after its
        /// cancellation, and nothing asked meanwhile whether the operation was cancelled.
        case ignoredCancellation(operation: String, duration: Duration)
        /// The overridden `isFinished` of an operation has been true for a second or longer, and
        /// nothing announced that. So the operation keeps its slot, and what waits for it goes on
        /// waiting.
        case unannouncedEnd(operation: String)
        /// All worker threads that there may be have been blocked for a second, while operations,
        /// tasks or timers wait for a thread. Reported once until one of the threads goes on.
        ///
        /// - Parameters:
        ///   - threads: the number of blocked threads.
        ///   - waiting: how many pieces of work wait for a thread.
        case allThreadsBlocked(threads: Int, waiting: Int)
        /// A task has waited for a second for a queue of a test scheduler, or for an operation of
        /// it, and nothing runs the scheduler. Reported once between two runs of a scheduler.
        case idleTestScheduler(queue: String)
        /// A queue was shut down by a signal, and a second after its grace period these operations
        /// have not ended.
        case leftAfterShutDown(queue: String, operations: [String])
        /// A mistake that did not stop the program, because ``OperationsDiagnostics/mistakePolicy``
        /// is ``MistakePolicy/report``.
        case misuse(OperationMisuse)

        /// A message that says what was found and how to correct it.
        public var description: String {
            switch self {
            case .dependencyCycle(let names):
                "dependency cycle: \(names.joined(separator: " → ")). None of these can start until "
                    + "one of them is cancelled or one of these dependencies is removed"
            case .circularWait(let names, let reasons):
                "operations wait for each other: \(names.joined(separator: " → ")). \(reasons). None of "
                    + "these can go on until one of them is cancelled, or one of the dependencies "
                    + "among them is removed"
            case .mainThreadWait(let name):
                "the main thread waits for \(name) while operations that run on the main thread wait for "
                    + "it. Wait with await, or add a completion block, or wait on another thread"
            case .unobservedFailure(let operation, let error):
                "\(operation) failed, and its failure was never observed: \(error). Await its value, "
                    + "read its error, or add a dependency on its failure"
            case .ignoredCancellation(let operation, let duration):
                "\(operation) went on for \(duration.text) after its cancellation, of which it did not "
                    + "ask. Call try Operation.checkCancellation() in its loops, or let onCancel stop "
                    + "what it waits for"
            case .unannouncedEnd(let operation):
                OperationsDiagnostics.unannouncedEnd(of: operation)
            case .allThreadsBlocked(let threads, let waiting):
                "all \(threads) worker threads have been blocked for a second, and \(waiting) "
                    + "\(waiting == 1 ? "piece" : "pieces") of work wait for a thread. If that is what "
                    + "the threads wait for, nothing goes on. Limit how many block at a time with "
                    + "the width of a queue, or await instead of blocking"
            case .idleTestScheduler(let queue):
                "a task has waited for a second for \(queue), and nothing runs the test scheduler of that "
                    + "queue. Let the scheduler call the code under test: "
                    + "try await scheduler.run { try await … }"
            case .leftAfterShutDown(let queue, let operations):
                "\(queue) was shut down, and does not end, because \(operations.listed) "
                    + "\(operations.count == 1 ? "has" : "have") not heeded the cancellation a second "
                    + "ago. Let onCancel stop what a body waits for, or leave the process after "
                    + "finished(within:)"
            case .misuse(let misuse):
                misuse.description
            }
        }
    }

    /// What the library does about a mistake of the program that it can refuse; see
    /// ``OperationsDiagnostics/mistakePolicy``.
    public enum MistakePolicy: Sendable {
        /// Stops the program with a message.
        case stop
        /// Reports the mistake as a ``Finding/misuse(_:)``, and refuses what was asked for.
        case report
    }

    private static let reportsMistakes = Atomic<Bool>(false)

    /// What the library does about a mistake that it can refuse; ``MistakePolicy/stop`` unless set.
    ///
    /// ```swift
    /// OperationsDiagnostics.mistakePolicy = .report
    /// ```
    ///
    /// The policy is for servers, which must not end with everything that they do because one
    /// request makes a mistake. It holds for the whole process, and for each ``OperationMisuse``:
    ///
    /// - **A call that cannot work** (an operation is added twice, or started while it is in a
    ///   queue, or told to depend on itself; a width is negative) is reported, and has no effect.
    ///   Each operation that the call was to add, and that no queue has or has had, fails with the
    ///   ``OperationMisuse``, which ``TypedOperation/value`` throws. So nothing waits for it for
    ///   ever. One that cannot join another one by its key is cancelled as a duplicate.
    /// - **A wait that can never end**, inside an operation, is reported and given up. The
    ///   operation that waits fails with the ``OperationMisuse`` and is cancelled, so its scope
    ///   ends with that error. An awaited ``TypedOperation/value`` throws the same. The waits that
    ///   return nothing return although what they wait for has not finished: code after them must
    ///   call ``Operation/checkCancellation()`` before it relies on that.
    ///
    /// Two kinds of mistakes stop the program in any case, because there is nothing safe to go on
    /// with: arguments outside of their range when something is made (a budget of −1 permits), and
    /// a scope, a graph or a function such as `concurrentMap` that can never end, because it
    /// promises that nothing of it goes on when it returns.
    public static var mistakePolicy: MistakePolicy {
        get { reportsMistakes.load(ordering: .relaxed) ? .report : .stop }
        set { reportsMistakes.store(newValue == .report, ordering: .relaxed) }
    }

    /// What messages say about an operation that reports its end and has not announced it.
    static func unannouncedEnd(of name: String) -> String {
        "\(name) reports that it is finished, but never announced it: call "
            + "didChangeValue(forKey: \"isFinished\")"
    }

    /// The handler, as a structure. If the lock guarded the bare function, each access would wrap
    /// the function in further thunks, and store the wrapped function: generic code passes the
    /// parameters and results of a function in another way than the function's own type does.
    private struct Handler {
        let call: @Sendable (Finding) -> Void
    }

    private static let currentHandler = Locked(
        Handler { finding in writeToStandardError("Operations: \(finding).\n") })

    /// The function called with each finding, on the thread that made it; writes to standard error
    /// unless set.
    ///
    /// - Complexity: O(1), and so is what a call of the function adds to the function that was set.
    public static var handler: @Sendable (Finding) -> Void {
        get { currentHandler.withLock { $0 }.call }
        set { currentHandler.replace(with: Handler(call: newValue)) }
    }
}

extension [String] {
    /// The first few names, and how many more there are.
    var listed: String {
        count <= 5
            ? joined(separator: ", ")
            : "\(prefix(4).joined(separator: ", ")) and \(count - 4) more"
    }
}
