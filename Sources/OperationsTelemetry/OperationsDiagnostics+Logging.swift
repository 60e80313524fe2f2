#if Telemetry
public import Logging
public import Operations

extension OperationsDiagnostics {
    /// Writes the library's findings about the program to a logger, as warnings, from now on and in
    /// place of standard error.
    ///
    /// The findings are failures that nobody observed, dependencies that form a cycle, waits that
    /// keep the main thread from work that needs it, operations that never announced their end, and
    /// bodies that did not ask for their cancellation. This method sets
    /// `OperationsDiagnostics.handler`, so it affects the whole process.
    ///
    /// Mistakes that stop the program are written to standard error, because a logger may not get
    /// to write any more. If `OperationsDiagnostics.mistakePolicy` is `report`, they stop nothing,
    /// and the logger writes them as errors.
    ///
    /// - Parameter logger: called on the thread of the finding.
    public static func report(to logger: Logger) {
        handler = { finding in
            var metadata: Logger.Metadata = ["finding": "\(finding)"]
            let message: Logger.Message
            var failure: (any Error)?
            switch finding {
            case .dependencyCycle(let operations), .circularWait(let operations, because: _):
                message = "Operations wait for each other"
                metadata["operations"] = .array(operations.map { .string($0.unquoted) })
            case .mainThreadWait(let name):
                message = "The main thread waits for what waits for it"
                metadata["waits_for"] = "\(name)"
            case .unobservedFailure(let operation, let error):
                message = "An operation failed, and its failure was never observed"
                metadata["operation.name"] = .string(operation.unquoted)
                metadata.describe(error)
                failure = error
            case .ignoredCancellation(let operation, let duration):
                message = "An operation went on after its cancellation without asking for it"
                metadata["operation.name"] = .string(operation.unquoted)
                metadata["duration"] = "\(duration)"
            case .unannouncedEnd(let operation):
                message = "An operation has finished and never announced it"
                metadata["operation.name"] = .string(operation.unquoted)
            case .idleTestScheduler(let queue):
                message = "A task waits for a queue whose test scheduler nothing runs"
                metadata["operation.queue"] = "\(queue)"
            case .allThreadsBlocked(let threads, let waiting):
                message = "All worker threads are blocked while work waits for one"
                metadata["threads"] = "\(threads)"
                metadata["waiting"] = "\(waiting)"
            case .leftAfterShutDown(let queue, let operations):
                message = "A queue that was shut down does not end"
                metadata["operation.queue"] = "\(queue)"
                metadata["operations"] = .array(operations.map { .string($0.unquoted) })
            case .misuse(let misuse):
                logger.error(
                    "The program has made a mistake with an operation, which was refused",
                    error: misuse, metadata: metadata)
                return
            }
            logger.warning(message, error: failure, metadata: metadata)
        }
    }
}

extension String {
    /// The name of an operation without the quotes that the library's messages put around it.
    fileprivate var unquoted: String {
        count > 2 && hasPrefix("'") && hasSuffix("'") ? String(dropFirst().dropLast()) : self
    }
}
#endif
