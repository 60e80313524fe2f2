#if Telemetry
import Logging
import Operations
import OperationsInsight
import Tracing

/// The messages that a queue writes to its log.
struct QueueLog: Sendable {
    private let logger: Logger

    init(_ logger: Logger, queue: String) {
        var logger = logger
        logger[metadataKey: "operation.queue"] = "\(queue)"
        self.logger = logger
    }

    func ended(_ operation: Operation, _ end: OperationEnd) {
        switch end.outcome {
        case .finished: break
        case .failed:
            logger.debug(
                "Operation failed", error: end.error,
                metadata: .about(operation, running: end.running, error: end.error))
        case .cancelled:
            logger.debug(
                "Operation was cancelled",
                metadata: .about(operation, running: end.running, reason: end.reason))
        }
    }

    /// Returns a function that logs the end of an operation that failed, of which the program has
    /// taken no notice. The function does not retain the operation.
    func failure(_ operation: Operation, _ end: OperationEnd) -> @Sendable () -> Void {
        let metadata = Logger.Metadata.about(operation, running: end.running, error: end.error)
        return { [logger] in
            logger.error(
                "Operation failed, and nothing observed it", error: end.error,
                metadata: metadata)
        }
    }

    /// Whether failures are logged.
    var takesErrors: Bool { logger.logLevel <= .error }

    func returned(_ operation: Operation, _ attempt: OperationAttempt, number: Int) {
        // A successful run of a periodic operation is not worth a message.
        guard let error = attempt.error else { return }
        logger.debug(
            "Operation will be retried", error: error,
            metadata: .about(operation, running: attempt.running, error: error).merging([
                "operation.attempt": "\(number)", "operation.delay.duration": "\(attempt.delay)",
            ]) { $1 })
    }

    func ranOutOfTime(_ operation: Operation, _ error: any Error) {
        logger.debug(
            "Operation ran out of time", error: error, metadata: .about(operation, error: error))
    }

    func stalled(_ stall: OperationQueueStall) {
        // Handlers that write text make a line of each message, and an explanation has several.
        let explanation = "\(stall.explanation)".split(separator: "\n").joined(separator: " ")
        var metadata: Logger.Metadata = [
            "duration": "\(stall.duration)", "unfinished": "\(stall.unfinishedCount)",
            "explanation": "\(explanation)",
        ]
        if !stall.operations.isEmpty {
            metadata["operations"] = .array(stall.operations.map { .string("\($0)") })
        }
        logger.warning(
            stall.isOfWholeQueue
                ? "Operation queue has stalled" : "Operation executes for too long",
            metadata: metadata)
    }
}

extension Logger.Metadata {
    fileprivate static func about(
        _ operation: Operation, running: Duration? = nil, error: (any Error)? = nil,
        reason: CancellationReason? = nil
    ) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["operation.name": "\(operation.nameForTelemetry)"]
        if let running { metadata["operation.running.duration"] = "\(running)" }
        if let reason { metadata["operation.cancellation"] = "\(reason)" }
        if let error { metadata.describe(error) }
        return metadata
    }

    /// Adds the error under the keys that swift-log's own handlers use; other handlers may ignore
    /// errors.
    mutating func describe(_ error: any Error) {
        self["error.message"] = "\(error)"
        self["error.type"] = "\(String(reflecting: type(of: error)))"
    }
}
#endif
