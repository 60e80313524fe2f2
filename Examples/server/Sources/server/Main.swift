// A server that makes thumbnails in jobs which survive its end.
//
// usage: server [folder] [port]

import DurableJobFiles
import DurableJobs
import DurableJobsTelemetry
import Hummingbird
import Logging
import OperationsFoundation
import OperationsServiceLifecycle
import OperationsTelemetry
import ServiceLifecycle

@main
struct Server {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        let folder = arguments.first ?? "thumbnails"
        guard arguments.count <= 2, let port = Int(arguments.dropFirst().first ?? "8080") else {
            print("usage: server [folder] [port]")
            exit(2)
        }
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)

        // Metrics and traces go nowhere until the program bootstraps a backend here, before the
        // first report: MetricsSystem.bootstrap(…), InstrumentationSystem.bootstrap(…).
        LoggingSystem.bootstrap(StreamLogHandler.standardError)
        var logger = Logger(label: "server")
        if let level = ProcessInfo.processInfo.environment["LOG_LEVEL"] {
            logger.logLevel = Logger.Level(rawValue: level) ?? .info
        }
        OperationsDiagnostics.report(to: logger)

        let jobs = try await JobQueue("thumbnails", in: .file("\(folder)/jobs.sqlite").withFiles())
        jobs.reportTelemetry(logger: logger)
        // Jobs compute. Their lower quality lets requests go first.
        let pixels = OperationQueue(name: "pixels")
        pixels.qualityOfService = .utility
        let requests = OperationQueue(name: "requests")
        let background = OperationQueue(name: "background", width: 1)
        for queue in [requests, background] { queue.reportTelemetry(logger: logger) }
        // `jobs` reports how jobs fail. So this queue only has metrics and traces to add.
        pixels.reportTelemetry(logger: nil)

        background.add("statistics", .every(.seconds(60))) { [logger] in
            let counts = try await jobs.counts()
            logger.info("Jobs: \(counts)")
        }

        var options = JobWorker.Options()
        options.values.provide(Thumbnail.Folder(path: folder))
        let worker = JobWorker(jobs, performing: [Thumbnail.self], on: pixels, options: options)
        let application = Application(
            router: router(jobs, requests),
            configuration: .init(address: .hostname("127.0.0.1", port: port)), logger: logger)

        // They end in the reverse order: first the server, then the worker, then the queues.
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    QueueService([background, requests], grace: .seconds(5), logger: logger),
                    worker, application,
                ],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        try await group.run()
        await jobs.close()
        logger.info("Ended")
    }
}
