#if DurableJobs && Telemetry
import DurableJobs
import Logging
import OperationsRuntime

/// The messages about a queue's jobs and workers.
final class JobLog: Sendable {
    private let logger: Logger
    private let now: @Sendable () -> Duration
    private let outage = Locked(OutageLog())

    /// - Parameter now: the time on any clock that does not go back.
    init(
        _ logger: Logger, queue: String,
        now: @escaping @Sendable () -> Duration = { .nanoseconds(Int64(continuousNanoseconds())) }
    ) {
        var logger = logger
        logger[metadataKey: "job.queue"] = "\(queue)"
        (self.logger, self.now) = (logger, now)
    }

    func report(_ event: JobWorkerEvent) {
        switch event {
        case .exchanged: break
        case .started(let job, let name, let attempt, let wait):
            logger.debug(
                "Attempt has started", metadata: .about(job, name, attempt, ["wait": "\(wait)"]))
        case .ended(let job, let name, let attempt, let state, let error):
            let level: Logger.Level = state == .discarded ? .error : .debug
            logger.log(
                level: level, Self.message(on: state),
                metadata: .about(job, name, attempt, error.map { ["error.message": "\($0)"] }))
        case .fenced(let job, let name, let attempt):
            logger.warning(
                "Result of an attempt was dropped", metadata: .about(job, name, attempt))
        case .rescued(let count):
            logger.warning("Jobs of dead workers were taken", metadata: ["count": "\(count)"])
        case .leaseLost: logger.warning("Worker has lost its lease")
        case .heartbeatLate(let time):
            logger.warning("Heartbeat was late", metadata: ["duration": "\(time)"])
        case .storeFailed(let reason):
            let time = now()
            guard let line = outage.withLock({ $0.failed(at: time) }) else { return }
            report(line, ["error.message": "\(reason)"])
        case .storeRecovered(let time):
            guard let line = outage.withLock({ $0.recovered(after: time) }) else { return }
            report(line, [:])
        case .unreadableSchedule(let name, let reason):
            logger.warning(
                "Schedule cannot be read by this process",
                metadata: ["schedule": "\(name)", "error.message": "\(reason)"])
        }
    }

    private func report(_ line: OutageLog.Line, _ metadata: Logger.Metadata) {
        func about(_ time: Duration, _ failures: Int) -> Logger.Metadata {
            metadata.merging(["duration": "\(time)", "failures": "\(failures)"]) { $1 }
        }
        switch line {
        case .begins: logger.warning("Store has failed", metadata: metadata)
        case .goesOn(let time, let failures):
            logger.warning("Store still fails", metadata: about(time, failures))
        case .over(let time, let failures):
            logger.notice("Store works again", metadata: about(time, failures))
        }
    }

    private static func message(on state: JobState) -> Logger.Message {
        switch state {
        case .completed: "Job was completed"
        case .retryable: "Job will be retried"
        case .cancelled: "Job was cancelled"
        case .discarded: "Job was discarded"
        case .blocked, .scheduled, .available, .running: "Job was handed back"
        }
    }
}

extension Logger.Metadata {
    fileprivate static func about(
        _ job: JobID, _ name: String, _ attempt: Int, _ more: Logger.Metadata? = nil
    ) -> Logger.Metadata {
        let metadata: Logger.Metadata = [
            "job.id": "\(job)", "job.name": "\(name)", "job.attempt": "\(attempt)",
        ]
        return metadata.merging(more ?? [:]) { $1 }
    }
}
#endif
