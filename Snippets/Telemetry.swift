// snippet.hide
// Telemetry on a server
#if Telemetry
import Logging
import Operations
import OperationsTelemetry

/// Writes log messages to the terminal.
struct Terminal: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug
    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let shown = [
            "operation.queue", "operation.name", "operation.attempt", "operation.cancellation",
            "error.message",
        ]
        .compactMap { key in
            // The last part of the key is enough here.
            all[key].map { "\(key.split(separator: ".").last ?? "")=\($0)" }
        }
        print("\(event.level) \(event.message):", shown.joined(separator: " "))
    }
}

struct Busy: Error {}

LoggingSystem.bootstrap { _ in Terminal() }

// snippet.show
let logger = Logger(label: "gallery")
OperationsDiagnostics.report(to: logger)  // once: failures that no code observes, cycles

let queue = OperationQueue()
queue.name = "thumbnails"
queue.reportTelemetry(logger: logger)  // metrics and spans: to the bootstrapped systems

let resize = queue.add("resize", .retry(1, backoff: .constant(.zero))) { throw Busy() }
let upload = queue.add("upload", after: resize) { _ in print("uploaded") }
await queue.finished()
// snippet.hide
_ = upload.cancellationReason
#endif

// Prints:
// debug Operation will be retried: queue=thumbnails name=resize attempt=1 message=Busy()
// debug Operation failed: queue=thumbnails name=resize message=Busy()
// debug Operation was cancelled: queue=thumbnails name=upload cancellation='resize' failed: Busy()
