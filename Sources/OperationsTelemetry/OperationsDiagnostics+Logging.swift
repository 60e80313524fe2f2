public import Logging
public import Operations

extension OperationsDiagnostics {
    /// Writes what the library notices about the program to a logger, as warnings, from now on and in place of
    /// standard error.
    ///
    /// These are failures that nobody looked at, dependencies that form a cycle, and waits that keep the
    /// main thread from the work that it is needed for. It sets `OperationsDiagnostics.handler`, so it
    /// holds for the whole process. Mistakes that stop the program are not among them: they are written
    /// to standard error, which is still there when a logger may not get to write any more.
    ///
    /// - Parameter logger: called on the thread where something was found.
    public static func report(to logger: Logger) {
        handler = { finding in
            var metadata: Logger.Metadata = ["finding": "\(finding)"]
            let message: Logger.Message
            var failure: (any Error)?
            switch finding {
            case .dependencyCycle(let operations):
                message = "Operations wait for each other"
                metadata["operations"] = .array(operations.map { .string($0.unquoted) })
            case .mainThreadWait(let name):
                message = "The main thread waits for what waits for it"
                metadata["waits_for"] = "\(name)"
            case .unobservedFailure(let operation, let error):
                message = "An operation failed and nobody looked"
                metadata["operation"] = .string(operation.unquoted)
                metadata.describe(error)
                failure = error
            }
            logger.warning(message, error: failure, metadata: metadata)
        }
    }
}

extension String {
    /// The name of an operation as other messages have it; in sentences it is quoted.
    fileprivate var unquoted: String {
        count > 2 && hasPrefix("'") && hasSuffix("'") ? String(dropFirst().dropLast()) : self
    }
}
