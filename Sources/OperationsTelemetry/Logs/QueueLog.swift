import Logging
import Operations
import Tracing

/// What a queue's log is told, and in which words.
struct QueueLog: Sendable {
    private let logger: Logger

    init(_ logger: Logger, queue: String) {
        var logger = logger
        logger[metadataKey: "queue"] = "\(queue)"
        self.logger = logger
    }

    func ended(_ operation: Operation, _ end: OperationEnd) {
        switch end.outcome {
        case .finished: break
        case .failed:
            logger.error(
                "Operation failed", error: end.error,
                metadata: .about(operation, running: end.running, error: end.error))
        case .cancelled:
            logger.debug(
                "Operation was cancelled",
                metadata: .about(operation, running: end.running, reason: end.reason))
        }
    }

    func returned(_ operation: Operation, _ attempt: OperationAttempt, number: Int) {
        // A periodic operation that succeeded is nothing to talk about.
        guard let error = attempt.error else { return }
        logger.debug(
            "Operation will be retried", error: error,
            metadata: .about(operation, running: attempt.running, error: error).merging([
                "attempt": "\(number)", "delay": "\(attempt.delay)",
            ]) { $1 })
    }

    func ranOutOfTime(_ operation: Operation, _ error: any Error) {
        logger.debug(
            "Operation ran out of time", error: error, metadata: .about(operation, error: error))
    }

    func stalled(_ stall: OperationQueueStall) {
        logger.warning(
            "Operation queue has stalled",
            metadata: [
                "duration": "\(stall.duration)", "unfinished": "\(stall.unfinishedCount)",
                "explanation": "\(stall.explanation)",
            ])
    }
}

extension Logger.Metadata {
    fileprivate static func about(
        _ operation: Operation, running: Duration? = nil, error: (any Error)? = nil,
        reason: CancellationReason? = nil
    ) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["operation": "\(operation.nameForTelemetry)"]
        if let running { metadata["duration"] = "\(running)" }
        if let reason { metadata["reason"] = "\(reason)" }
        if let error { metadata.describe(error) }
        return metadata
    }

    /// In the words that swift-log's own handlers have for an error; others may know nothing of errors.
    mutating func describe(_ error: any Error) {
        self["error.message"] = "\(error)"
        self["error.type"] = "\(String(reflecting: type(of: error)))"
    }
}
