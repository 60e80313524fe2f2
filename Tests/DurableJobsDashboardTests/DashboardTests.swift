#if DurableJobsDashboard
import DurableJobs
import HTTPTypes
import Operations
import OperationsTestSupport
import Testing

@testable import DurableJobsDashboard

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A job whose name would be markup.
private struct Odd: Job {
    static let name = "a <b>&\"'"
    var message = ""

    func perform(in context: JobContext) async throws -> NoOutput {
        if !message.isEmpty { throw PermanentFailure(message) }
        return NoOutput()
    }
}

/// A queue in a file of its own, and its dashboard.
private struct Site {
    let queue: JobQueue
    let dashboard: JobDashboard

    static func run(
        _ name: String = "mails", allowsChanges: Bool = false,
        _ body: (Site) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "dashboard-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let queue = try await JobQueue(
            name, in: .file(folder.appending(path: "jobs.sqlite").path()))
        do {
            try await body(
                Site(
                    queue: queue,
                    dashboard: JobDashboard(queue, at: "/ops/jobs/", allowsChanges: allowsChanges)
                )
            )
        } catch {
            await queue.close()
            throw error
        }
        await queue.close()
    }

    /// Runs the jobs until all have ended.
    func work(until handle: JobHandle<NoOutput>) async throws {
        let worker = JobWorker(queue, performing: [Odd.self], on: OperationQueue())
        let run = Task { try await worker.run() }
        _ = try? await handle.value
        worker.stop()
        try await run.value
    }

    func get(_ path: String, _ method: HTTPRequest.Method = .get) async -> JobDashboard.Response {
        await dashboard.respond(
            to: HTTPRequest(method: method, scheme: "http", authority: "ops:80", path: path))
    }

    /// Sends a form, as the browser does from a page of the dashboard, unless told otherwise.
    func send(
        _ path: String, token: String?, origin: String? = "http://ops:80",
        site: String? = "same-origin"
    ) async throws -> JobDashboard.Response {
        var request = HTTPRequest(
            method: .post, scheme: "http", authority: "ops:80", path: path)
        request.headerFields[.origin] = origin
        request.headerFields[try #require(HTTPField.Name("Sec-Fetch-Site"))] = site
        return await dashboard.respond(to: request, body: token.map { "token=\($0)" } ?? "")
    }

    /// The token in a page.
    func token(in page: String) throws -> String {
        let parts = page.split(separator: "name=\"token\" value=\"", maxSplits: 1)
        return String(try #require(parts.last?.prefix { $0 != "\"" }))
    }
}

@Suite(.timeLimit(.minutes(5)))
struct DashboardTests {
    @Test func theOverviewCountsTheJobsOfEachState() async throws {
        try await Site.run { site in
            try await site.queue.enqueue((0..<3).map { _ in Odd() })
            try await site.queue.enqueue(Odd(), .delay(.seconds(3_600)))
            for path in ["/ops/jobs", "/ops/jobs/", "/ops/jobs?x=1"] {
                let response = await site.get(path)
                #expect(response.head.status == .ok)
                #expect(response.body.contains("state=available\">3</a>"))
                #expect(response.body.contains("state=scheduled\">1</a>"))
                #expect(response.body.contains("<td class=\"number none\">0</td>"))
                #expect(response.body.contains("href=\"/ops/jobs/queue/mails\""))
            }
        }
    }

    @Test func namesAndErrorsAreNoMarkup() async throws {
        try await Site.run("<script>&") { site in
            let handle = try await site.queue.enqueue(Odd(message: "<img src=x>\n\u{1}second"))
            try await site.work(until: handle)
            let root = "/ops/jobs/queue/%3Cscript%3E%26"
            for path in ["/ops/jobs", root, "\(root)/job/\(handle.id)"] {
                let response = await site.get(path)
                #expect(response.head.status == .ok)
                #expect(!response.body.contains("<script>&"))
                #expect(!response.body.contains("<img"))
                #expect(!response.body.contains("\u{1}"))
                #expect(response.body.contains("&lt;script&gt;&amp;"))
                let policy = try #require(response.head.headerFields[.contentSecurityPolicy])
                #expect(policy.hasPrefix("default-src 'none'"))
            }
            let list = await site.get(root).body
            #expect(list.contains("a &lt;b&gt;&amp;&quot;&#39;"))
            #expect(list.contains("&lt;img src=x&gt;"))
            #expect(!list.contains("second"), "a list shows one line of an error")
            let job = await site.get("\(root)/job/\(handle.id)").body
            #expect(job.contains("second"))
        }
    }

    @Test func aJobSaysWhyItDoesNotRun() async throws {
        try await Site.run { site in
            let first = try await site.queue.enqueue(Odd())
            let second = try await site.queue.enqueue(Odd(), after: [first])
            let page = await site.get("/ops/jobs/queue/mails/job/\(second.id)")
            #expect(page.head.status == .ok)
            #expect(page.body.contains("waits for (\(first.id))"))
            #expect(!page.body.contains("<form method=\"post\""), "it can only be read")
        }
    }

    @Test func aLongListHasPages() async throws {
        try await Site.run { site in
            let handles = try await site.queue.enqueue((0..<120).map { _ in Odd() })
            var path = "/ops/jobs/queue/mails?state=available&name=a%20%3Cb%3E%26%22%27"
            var seen: [String] = []
            for _ in 0..<3 {
                let page = await site.get(path)
                #expect(page.head.status == .ok)
                let rows = page.body.split(separator: "<th scope=\"row\"><a href=\"").dropFirst()
                seen += rows.map { String($0.prefix { $0 != "\"" }) }
                let step = page.body.split(separator: "<a href=\"")
                    .last { $0.contains(">Next page") }
                path =
                    step.map { String($0.prefix { $0 != "\"" }.replacing("&amp;", with: "&")) }
                    ?? ""
                if path.isEmpty { break }
            }
            let expected = handles.reversed().map { "/ops/jobs/queue/mails/job/\($0.id)" }
            #expect(seen.elementsEqual(expected))
            let none = await site.get("/ops/jobs/queue/mails?state=discarded")
            #expect(none.body.contains("There are no such jobs."))
        }
    }

    @Test func unknownAddressesAreNoPages() async throws {
        try await Site.run { site in
            let paths = [
                "/", "/ops", "/ops/jobsy", "/ops/jobs/queue", "/ops/jobs/queue/other",
                "/ops/jobs/queue/mails/job/x", "/ops/jobs/queue/mails/job/77",
                "/ops/jobs/queue/%zz", "/ops/jobs/queue/mails/job/1/burn",
            ]
            for path in paths {
                let response = await site.get(path)
                #expect(response.head.status == .notFound, "\(path)")
                #expect(response.body.contains("</html>"))
            }
            #expect(await site.get("/ops/jobs", .post).head.status == .methodNotAllowed)
            #expect(await site.get("/ops/jobs", .head).head.status == .ok)
            #expect(await site.get("/ops/jobs/style.css").head.status == .ok)
            #expect(await site.get("/ops/jobs/refresh.js").head.status == .ok)
        }
    }

    @Test func aFormOfThePageChangesAJob() async throws {
        try await Site.run(allowsChanges: true) { site in
            let handle = try await site.queue.enqueue(Odd())
            let job = "/ops/jobs/queue/mails/job/\(handle.id)"
            let token = try site.token(in: await site.get(job).body)
            let response = try await site.send("\(job)/cancel", token: token)
            #expect(response.head.status == .seeOther)
            #expect(response.head.headerFields[.location] == job)
            #expect(try await site.queue.info(handle.id)?.state == .cancelled)
            let page = await site.get(job).body
            #expect(page.contains("an operator has cancelled it"))
            #expect(page.contains(">Retry</button>"))
            #expect(try await site.send("\(job)/retry", token: token).head.status == .seeOther)
            #expect(try await site.queue.info(handle.id)?.state == .available)
            #expect(try await site.send("\(job)/retry", token: token).head.status == .conflict)
            #expect(await site.get("\(job)/cancel").head.status == .methodNotAllowed)
        }
    }

    @Test func aFormOfAnotherSiteChangesNothing() async throws {
        try await Site.run(allowsChanges: true) { site in
            let handle = try await site.queue.enqueue(Odd())
            let path = "/ops/jobs/queue/mails/job/\(handle.id)/cancel"
            let token = try site.token(
                in: await site.get("/ops/jobs/queue/mails/job/\(handle.id)").body)
            let refused = [
                try await site.send(path, token: nil),
                try await site.send(path, token: ""),
                try await site.send(path, token: String(token.reversed())),
                try await site.send(path, token: token, origin: "http://evil.example"),
                try await site.send(path, token: token, origin: "null"),
                try await site.send(path, token: token, site: "cross-site"),
                try await site.send(path, token: token, site: "same-site"),
            ]
            for response in refused { #expect(response.head.status == .forbidden) }
            #expect(try await site.queue.info(handle.id)?.state == .available)
            // A browser without these header fields still has the token.
            let old = try await site.send(path, token: token, origin: nil, site: nil)
            #expect(old.head.status == .seeOther)
        }
    }

    @Test func aDashboardThatOnlyShowsRefusesForms() async throws {
        try await Site.run { site in
            let handle = try await site.queue.enqueue(Odd())
            let path = "/ops/jobs/queue/mails/job/\(handle.id)/cancel"
            #expect(try await site.send(path, token: "x").head.status == .forbidden)
            #expect(try await site.queue.info(handle.id)?.state == .available)
        }
    }

    @Test func aStoreThatDoesNotAnswerIsSaid() async throws {
        try await Site.run { site in
            await site.queue.close()
            let page = await site.get("/ops/jobs")
            #expect(page.head.status == .ok)
            #expect(page.body.contains("The store does not answer"))
            let list = await site.get("/ops/jobs/queue/mails")
            #expect(list.head.status == .serviceUnavailable)
        }
    }

    @Test(arguments: ["", "a b", "100 %", "ä/ö?#&=+", "日本"])
    func textInAddressesComesBack(_ text: String) {
        #expect(text.inAddress.decodedFromAddress() == text)
        #expect(DashboardRequest.values(of: "x=\(text.inAddress)")["x"] == text)
    }
}
#endif
