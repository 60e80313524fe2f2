// A server that makes thumbnails in jobs which survive its end.
//
// usage: server [folder] [port]

import CoreMetrics
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

        // Before the first report. Traces go nowhere until the program bootstraps a backend here:
        // InstrumentationSystem.bootstrap(…).
        LoggingSystem.bootstrap(StreamLogHandler.standardError)
        let metrics = PrometheusMetrics()
        MetricsSystem.bootstrap(metrics)
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
        // A job ends within thirty seconds, or ignores its timeout.
        var limits = TelemetryOptions()
        limits.operationLimit = .seconds(45)
        pixels.reportTelemetry(logger: logger, options: limits)

        background.add("statistics", .every(.seconds(60))) { [logger] in
            let counts = try await jobs.counts()
            logger.debug("Jobs: \(counts)")
        }

        var options = JobWorker.Options()
        options.values.provide(Thumbnail.Folder(path: folder))
        let worker = JobWorker(jobs, performing: [Thumbnail.self], on: pixels, options: options)
        let application = Application(
            router: router(jobs, requests, metrics),
            configuration: .init(address: .hostname("127.0.0.1", port: port)), logger: logger)

        // They end in the reverse order: first the server, then the worker, then the queues.
        var configuration = ServiceGroupConfiguration(
            services: [
                QueueService([background, requests], grace: .seconds(5), logger: logger),
                worker, application,
            ],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        // A client that keeps its connection open would keep the server from ending. After this
        // time everything that still runs is cancelled, and after five more the process ends.
        configuration.maximumGracefulShutdownDuration = .seconds(20)
        configuration.maximumCancellationDuration = .seconds(5)
        try await ServiceGroup(configuration: configuration).run()
        await jobs.close()
        if pixels.operationCount > 0 {
            // Their jobs were handed back. Another worker will run them.
            let explanation = "\(pixels.explain())".split(separator: "\n").joined(separator: " ")
            logger.warning("Jobs did not end when they were cancelled: \(explanation)")
        }
        logger.info("Ended")
    }
}
