#if DurableJobs && Telemetry
import Tracing

/// A trace context as text: a line `name: value` for each field that the tracer propagates, such as
/// the `traceparent` of W3C Trace Context.
enum TraceText {
    /// The largest size of a field in bytes. Larger ones, which only baggage can be, are left out:
    /// every job of a batch stores its own copy.
    static let fieldLimit = 1024

    /// Returns the text of a context; nil if the tracer propagates nothing.
    static func text(of context: ServiceContext, by tracer: any Tracer) -> String? {
        var fields: [String: String] = [:]
        tracer.inject(context, into: &fields, using: Fields())
        let lines = fields.map { "\($0): \($1)" }.filter { line in
            line.utf8.count <= fieldLimit && !line.unicodeScalars.contains { $0.value < 32 }
        }
        return lines.isEmpty ? nil : lines.sorted().joined(separator: "\n")
    }

    /// Returns the context of a text; a context without a parent if the tracer does not know the
    /// fields.
    static func context(from text: String, by tracer: any Tracer) -> ServiceContext {
        var fields: [String: String] = [:]
        for line in text.split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            fields[String(line[..<colon])] = String(value)
        }
        var context = ServiceContext.topLevel
        tracer.extract(fields, into: &context, using: Fields())
        return context
    }

    private struct Fields: Injector, Extractor {
        func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) {
            carrier[key] = value
        }

        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
    }
}
#endif
