#if DurableJobsDashboard
public import DurableJobs
public import HTTPTypes

/// Pages that show what the jobs of queues do, and why a job does not run.
///
/// ```swift
/// let dashboard = JobDashboard(jobs)
/// // In a router of Hummingbird, behind whatever protects the pages of operators:
/// router.group().add(middleware: OperatorsOnly())
///     .on("jobs/**", method: .get) { request, _ in
///         let answer = await dashboard.respond(to: request.head)
///         return Response(
///             status: answer.head.status, headers: answer.head.headerFields,
///             body: ResponseBody(byteBuffer: ByteBuffer(string: answer.body)))
///     }
/// ```
///
/// The dashboard belongs to no server: the program's own server passes it each request whose path
/// begins with the dashboard's, and sends back what it returns. **The dashboard has no
/// password**: everybody who reaches these addresses sees the names, errors and states of all jobs,
/// so the server protects them.
///
/// The pages load nothing from other servers, work without scripts, and are made anew every two
/// seconds by a script that asks for the page again while the page is visible. They show names,
/// times and errors of jobs, and never arguments or results.
///
/// A page is read in several transactions, so it may mix moments.
public struct JobDashboard: Sendable {
    /// A response to a request.
    public struct Response: Sendable {
        /// The status and the header fields, among them `Content-Type` and a content security
        /// policy that forbids everything from elsewhere.
        public var head: HTTPResponse
        /// The body, as UTF-8.
        public var body: String
    }

    private let stores: [(title: String, jobs: JobQueue)]
    private let root: String
    private let allowsChanges: Bool
    private let guardian = DashboardGuard()

    /// Makes a dashboard for all queues of a store.
    ///
    /// - Parameters:
    ///   - jobs: any queue of the store. The dashboard uses it only while it makes a page.
    ///   - path: where the pages are, such as "/jobs".
    ///   - allowsChanges: whether the pages have buttons that retry and cancel jobs, and that pause
    ///     queues and schedules. Only a form of the dashboard itself can press them, not a page of
    ///     another site.
    public init(_ jobs: JobQueue, at path: String = "/jobs", allowsChanges: Bool = false) {
        self.init(stores: ["": jobs], at: path, allowsChanges: allowsChanges)
    }

    /// Makes a dashboard for all queues of several stores.
    ///
    /// - Parameters:
    ///   - stores: a queue of each store, by the title that the pages show: `["eu": a, "us": b]`.
    ///   - path: as in ``init(_:at:allowsChanges:)``.
    ///   - allowsChanges: as in ``init(_:at:allowsChanges:)``.
    /// - Precondition: the titles differ.
    public init(
        stores: KeyValuePairs<String, JobQueue>, at path: String = "/jobs",
        allowsChanges: Bool = false
    ) {
        precondition(
            Set(stores.map(\.key)).count == stores.count,
            "a dashboard cannot show two stores of one title: give one of them another title")
        self.stores = stores.map { ($0.key, $0.value) }
        var root = path.hasPrefix("/") ? path : "/" + path
        while root.hasSuffix("/") { root.removeLast() }
        self.root = root
        self.allowsChanges = allowsChanges
    }

    /// Answers a request, on the caller's thread but for the questions to the stores.
    ///
    /// An unknown address is answered with the status 404, a change that is not allowed with 403,
    /// one that is not possible with 409, and a store that does not answer with 503.
    ///
    /// - Parameters:
    ///   - request: the request; its `path` is the whole path, with the query.
    ///   - body: the body of a form; nil for other requests. A server need not read more than two
    ///     kilobytes.
    public func respond(to request: HTTPRequest, body: String? = nil) async -> Response {
        guard let target = DashboardRequest(request.path ?? "/", below: root) else {
            return page(.notFound, problem("There is no such page."))
        }
        do {
            return try await respond(to: request, target, body)
        } catch let error as JobError {
            return page(.serviceUnavailable, problem("\(error)."))
        } catch {
            return page(.serviceUnavailable, problem("The store does not answer: \(error)."))
        }
    }

    private func respond(
        to request: HTTPRequest, _ target: DashboardRequest, _ body: String?
    ) async throws -> Response {
        if case .change(let change, let place) = target.target {
            guard request.method == .post else {
                return page(.methodNotAllowed, problem("This address takes only forms."))
            }
            return try await perform(change, place, request, body ?? "")
        }
        guard request.method == .get || request.method == .head else {
            return page(.methodNotAllowed, problem("This address can only be read."))
        }
        let pages = DashboardPages(
            root: root, allowsChanges: allowsChanges, token: guardian.token)
        switch target.target {
        case .overview: return page(.ok, pages.overview(await StoreReading.all(stores)))
        case .style: return file(DashboardFiles.style, "text/css; charset=utf-8")
        case .script: return file(DashboardFiles.script, "text/javascript; charset=utf-8")
        case .queue(let place):
            guard let queue = try queue(place) else { return unknownStore(place) }
            let filter = DashboardFilter(target.query)
            let reading = try await QueueReading(queue, filter)
            if reading.info == nil, reading.jobs.isEmpty {
                return page(.notFound, problem("The store has no queue '\(place.queue)'."))
            }
            return page(.ok, pages.queue(reading, place, filter))
        case .job(let place, let id):
            guard let queue = try queue(place) else { return unknownStore(place) }
            guard let job = try await queue.info(id), job.queue == place.queue else {
                return page(
                    .notFound,
                    problem(
                        "The queue '\(place.queue)' has no job \(id). It may have been deleted."))
            }
            return page(.ok, pages.job(job, in: place, try await queue.explain(id)))
        case .change: return page(.notFound, problem("There is no such page."))
        }
    }

    private func perform(
        _ change: DashboardRequest.Change, _ place: DashboardRequest.Place,
        _ request: HTTPRequest, _ body: String
    ) async throws -> Response {
        guard allowsChanges else {
            return page(
                .forbidden,
                problem("This dashboard only shows jobs. Its program allows no changes."))
        }
        let form = DashboardRequest.values(of: body)
        if let refusal = guardian.refusal(of: request, form) {
            return page(.forbidden, problem(refusal))
        }
        guard let queue = try queue(place) else { return unknownStore(place) }
        var address = DashboardPages.address(of: place, root)
        do {
            switch change {
            case .retry(let id):
                guard try await queue.retry(id) else {
                    return page(
                        .conflict,
                        problem(
                            "Job \(id) cannot be retried now: it has not failed and was not "
                                + "cancelled, or another job with its unique key has not ended."))
                }
                address += "/job/\(id)"
            case .cancel(let id):
                try await queue.cancel(id, because: "an operator has cancelled it")
                address += "/job/\(id)"
            case .pause:
                let reason = form["reason"] ?? ""
                try await queue.pause(reason: reason.isEmpty ? "an operator did it" : reason)
            case .resume: try await queue.resume()
            case .pauseSchedule(let name): try await queue.pauseSchedule(name)
            case .resumeSchedule(let name): try await queue.resumeSchedule(name)
            case .runSchedule(let name): address += "/job/\(try await queue.runNow(name))"
            }
        } catch JobError.unknownJobs(let ids) {
            let names = ids.map { "\($0)" }.joined(separator: ", ")
            return page(.conflict, problem("There is no job \(names) any more."))
        } catch let error as JobError where error.isAboutRequest {
            return page(.conflict, problem("\(error)."))
        }
        // After a form the browser loads the page, so that loading it again sends nothing twice.
        var response = page(.seeOther, problem("Done."))
        response.head.headerFields[.location] = address
        return response
    }

    private func queue(_ place: DashboardRequest.Place) throws -> JobQueue? {
        try stores.first { $0.title == place.store }?.jobs.queue(place.queue)
    }

    private func unknownStore(_ place: DashboardRequest.Place) -> Response {
        page(.notFound, problem("There is no store '\(place.store)' on this dashboard."))
    }

    // MARK: Responses

    private func problem(_ text: String) -> DashboardPages.Page {
        DashboardPages.Page(title: "Jobs", trail: [], isRefreshed: false, main: "<p>\(text)</p>")
    }

    private func page(_ status: HTTPResponse.Status, _ page: DashboardPages.Page) -> Response {
        let body = page.html(root: root).text
        var head = HTTPResponse(status: status)
        head.headerFields[.contentType] = "text/html; charset=utf-8"
        head.headerFields[.cacheControl] = "no-store"
        head.headerFields[.contentSecurityPolicy] =
            "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
            + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        head.headerFields[.xContentTypeOptions] = "nosniff"
        head.headerFields[.referrerPolicy] = "same-origin"
        return Response(head: head, body: body)
    }

    private func file(_ text: String, _ type: String) -> Response {
        var head = HTTPResponse(status: .ok)
        head.headerFields[.contentType] = type
        head.headerFields[.cacheControl] = "max-age=300"
        head.headerFields[.xContentTypeOptions] = "nosniff"
        return Response(head: head, body: text)
    }
}

extension JobError {
    /// Whether the error is about what was asked for, and not about the store.
    fileprivate var isAboutRequest: Bool {
        switch self {
        case .unknownSchedule, .invalidSchedule, .invalidTrait: true
        default: false
        }
    }
}

extension HTTPField.Name {
    fileprivate static var referrerPolicy: Self { Self("Referrer-Policy").unsafelyUnwrapped }
}
#endif
