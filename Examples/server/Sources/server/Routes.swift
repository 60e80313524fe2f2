import DurableJobs
import Hummingbird
import OperationsFoundation

/// What routes need to know of a request: the address of the client.
struct ClientContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// Behind a proxy, all clients have its address: take a header of the proxy then.
    let client: String

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        client = source.channel.remoteAddress?.ipAddress ?? "unknown"
    }
}

/// The state of a job, as JSON.
struct JobStatus: ResponseEncodable {
    let id: JobID
    let state: String
    let explanation: String
    var file: String?
}

/// The state of the server, as JSON.
struct Health: ResponseEncodable {
    let jobs: [String: Int]
    let requestsInLine: Int
}

/// Makes the routes of the server.
///
/// - Parameters:
///   - requests: the queue in which requests wait for their turn.
///   - metrics: what `/metrics` shows.
func router(
    _ jobs: JobQueue, _ requests: OperationQueue, _ metrics: PrometheusMetrics
) -> Router<ClientContext> {
    let router = Router(context: ClientContext.self)
    // These three report to the systems that the program has bootstrapped.
    router.add(middleware: TracingMiddleware())
    router.add(middleware: MetricsMiddleware())
    router.add(middleware: LogRequestsMiddleware(.debug))

    router.get("health") { _, _ in
        let counts = try await jobs.counts().map { ("\($0)", $1) }
        return Health(
            jobs: Dictionary(uniqueKeysWithValues: counts), requestsInLine: requests.operationCount)
    }

    router.get("metrics") { _, _ in
        Response(
            status: .ok,
            headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: .init(byteBuffer: ByteBuffer(string: metrics.text)))
    }

    let limited = router.group().add(
        middleware: ClientLimit(RateLimit(10, per: .seconds(1), name: "one client"), requests))

    limited.post("thumbnails") { request, context in
        let thumbnail = try await request.decode(as: Thumbnail.self, context: context)
        guard thumbnail.photo.wholeMatch(of: /\w[\w.-]*/) != nil else {
            throw HTTPError(.badRequest, message: "a photo has a name without slashes")
        }
        guard (16...1024).contains(thumbnail.size) else {
            throw HTTPError(.badRequest, message: "the size can be 16 to 1024")
        }
        // What a stranger gets wrong is no job that fails, which somebody would have to look at.
        guard thumbnail.photoExists else {
            throw HTTPError(.notFound, message: "there is no photo '\(thumbnail.photo)'")
        }
        // A second request for the same thumbnail gets the job of the first one.
        let job = try await jobs.enqueue(
            thumbnail, .unique(by: "\(thumbnail.size) \(thumbnail.photo)", for: .seconds(3_600)))
        return EditedResponse(
            status: .accepted, headers: [.location: "/jobs/\(job.id)"],
            response: try await status(of: job))
    }

    // With ?wait=5 the answer comes when the job has ended, or after five seconds.
    limited.get("jobs/:id") { request, context in
        let job = jobs.handle(
            of: Thumbnail.self, id: JobID(try context.parameters.require("id", as: Int64.self)))
        let wait = request.uri.queryParameters.get("wait", as: Int.self) ?? 0
        if wait > 0 {
            let end = requests.add("wait", .timeout(.seconds(min(wait, 30))), .mayFail) {
                _ = try? await job.value  // How it ended is in the status.
            }
            await end.finished()
        }
        return try await status(of: job)
    }

    @Sendable func status(of job: JobHandle<String>) async throws -> JobStatus {
        while let info = try await jobs.info(job.id) {
            let explanation = try await jobs.explain(job.id)
            // The job may have gone on in between. State and explanation belong together.
            guard try await jobs.info(job.id)?.state == info.state else { continue }
            return JobStatus(
                id: job.id, state: "\(info.state)", explanation: explanation,
                file: info.state == .completed ? try await job.value : nil)
        }
        throw HTTPError(.notFound, message: "there is no job \(job.id)")
    }
    return router
}
