#if DurableJobs && Telemetry
import DurableJobs
import Operations
import Tracing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Measures one attempt of a job, and has its span.
struct AttemptTelemetry: JobAttemptObserver {
    let metrics: NamedJobMetrics?
    let span: (any Span)?
    private let start = ContinuousClock.now

    init(metrics: NamedJobMetrics?, span: (any Span)?) {
        (self.metrics, self.span) = (metrics, span)
    }

    /// Begins the span of an attempt. Its parent is the context in which the job was enqueued.
    static func span(of job: ClaimedJob, in queue: String, by tracer: any Tracer) -> any Span {
        let parent = job.trace.map { TraceText.context(from: $0, by: tracer) } ?? .topLevel
        let span = tracer.startSpan(job.name, context: parent, ofKind: .consumer)
        span.updateAttributes { attributes in
            attributes["job.queue"] = queue
            attributes["job.name"] = job.name
            attributes["job.id"] = job.token.job.rawValue
            attributes["job.attempt"] = job.attempt
        }
        // The span of the operation, if its queue reports to a tracer, too.
        if let operation = ServiceContext.current {
            span.addLink(SpanLink(context: operation, attributes: [:]))
        }
        return span
    }

    func perform(_ body: @Sendable () async throws -> Data) async throws -> Data {
        guard let span else { return try await body() }
        return try await ServiceContext.withValue(span.context, isolation: nil) {
            try await body()
        }
    }

    func attemptEnded(_ verdict: AttemptVerdict, error: (any Error)?) {
        let state = verdict.state
        metrics?.attemptEnded(state, running: start.duration(to: .now))
        guard let span else { return }
        span.attributes["job.state"] = "\(state)"
        switch verdict {
        case .completed, .completedByProgram, .handedBack, .notBegun: break
        case .cancelled(let reason): span.attributes["job.cancellation"] = reason
        case .postponed(let reason, _), .snoozed(let reason, _):
            span.attributes["job.postponement"] = reason
        case .retry(let reason, _), .discarded(let reason):
            if let error {
                span.attributes["error.type"] = String(reflecting: type(of: error))
                span.recordError(error)
            }
            span.setStatus(SpanStatus(code: .error, message: reason))
        }
        span.end()
    }
}

extension AttemptVerdict {
    /// The state that the job gets if the store accepts the verdict.
    fileprivate var state: JobState {
        switch self {
        case .completed, .completedByProgram: .completed
        case .retry, .postponed, .snoozed: .retryable
        case .discarded: .discarded
        case .cancelled: .cancelled
        case .handedBack, .notBegun: .available
        }
    }
}
#endif
