#if Telemetry
import Operations
import Tracing

/// The span of an operation, and its attributes and events.
struct OperationSpan: Sendable {
    /// The largest number of dependencies that are linked: the first ones.
    private static let linkLimit = 64

    private let span: any Span

    /// The context that the body runs in.
    var context: ServiceContext { span.context }

    /// Begins a span.
    ///
    /// - Parameters:
    ///   - parent: the context in which the operation was added.
    ///   - waiting: how long the operation was ready; nil if that is unknown.
    init(
        of operation: Operation, in queue: String, by tracer: any Tracer, parent: ServiceContext,
        queued: Duration, waiting: Duration?
    ) {
        span = tracer.startSpan(operation.nameForSpan, context: parent, ofKind: .internal)
        span.updateAttributes { attributes in
            attributes["operation.queue"] = queue
            attributes["operation.type"] = "\(type(of: operation))"
            attributes["operation.queued.duration"] = queued.inSeconds
            if let waiting { attributes["operation.waiting.duration"] = waiting.inSeconds }
        }
        for dependency in operation.listedDependencies.prefix(Self.linkLimit) {
            guard let context = dependency.telemetry?.lastContext else { continue }
            span.addLink(SpanLink(context: context, attributes: [:]))
        }
    }

    func retried(_ attempt: OperationAttempt, number: Int) {
        var attributes: SpanAttributes = [
            "operation.attempt": .int64(Int64(number)),
            "operation.delay.duration": .double(attempt.delay.inSeconds),
        ]
        if let error = attempt.error {
            attributes["error.type"] = String(reflecting: type(of: error))
            attributes["error.message"] = "\(error)"
        }
        span.addEvent(SpanEvent(name: "retry", attributes: attributes))
    }

    func ranOutOfTime() { span.addEvent("timeout") }

    /// Ends the span.
    func end(_ outcome: OperationMetrics.Outcome, _ end: OperationEnd?, attempts: Int) {
        span.updateAttributes { attributes in
            attributes["operation.outcome"] = outcome.rawValue
            if attempts > 1 { attributes["operation.attempts"] = attempts }
            if let reason = end?.reason { attributes["operation.cancellation"] = "\(reason)" }
            if let error = end?.error {
                attributes["error.type"] = String(reflecting: type(of: error))
            }
        }
        if let error = end?.error {
            span.recordError(error)
            span.setStatus(SpanStatus(code: .error, message: "\(error)"))
        }
        span.end()
    }

    /// Ends the span before the operation has ended.
    func abandon() {
        span.addEvent("telemetry ended")
        span.end()
    }
}

extension Operation {
    fileprivate var nameForSpan: String { isBarrier ? "barrier" : nameForTelemetry }
}

extension Duration {
    fileprivate var inSeconds: Double { self / .seconds(1) }
}
#endif
