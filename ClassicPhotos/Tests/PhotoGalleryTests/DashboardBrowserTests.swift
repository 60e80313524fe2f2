import DurableJobs
import DurableJobsDashboard
import Foundation
import Operations
import OperationsTestSupport
import Testing

@testable import PhotoGallery

/// A job of the tests: it fails if it has a message.
private struct Letter: Job {
    static let name = "letter"
    var message = ""

    func perform(in context: JobContext) async throws -> NoOutput {
        if !message.isEmpty { throw PermanentFailure(message) }
        return NoOutput()
    }
}

/// The pages of durable jobs in a real browser.
@Suite(.ownThreads, .oneStillBrowser, .serialized, .timeLimit(.minutes(5)))
struct DashboardBrowserTests {
    @Test(
        .enabled(if: Axe.script != nil), arguments: [(360, "dark"), (1200, "light")])
    func pagesBreakNoRules(screen: (width: Int, scheme: String)) async throws {
        try await withDashboard { jobs, url in
            let failed = try await makeJobs(in: jobs)
            try await Browser.run(width: screen.width, height: 800) { browser in
                try await browser.command(
                    "Emulation.setEmulatedMedia",
                    ["features": [["name": "prefers-color-scheme", "value": screen.scheme]]])
                try await browser.open(url)
                try await browser.wait(for: "document.querySelector('tbody tr')", "the queues")
                try await Axe.check(browser, "the overview")
                try await keepPicture(browser, "overview-\(screen.scheme)")
                try await click("tbody th a", browser)
                try await browser.wait(for: "document.querySelector('.jobs')", "the jobs")
                try await Axe.check(browser, "the list of jobs")
                try await keepPicture(browser, "list-\(screen.scheme)")
                try await click("a[href$='/job/\(failed)']", browser)
                try await browser.wait(for: "document.querySelector('.buttons')", "the job")
                try await Axe.check(browser, "a job")
                try await keepPicture(browser, "job-\(screen.scheme)")
            }
        }
    }

    @Test func aPersonSeesChangesAndRetriesAJob() async throws {
        try await withDashboard { jobs, url in
            let failed = try await makeJobs(in: jobs)
            try await Browser.run(width: 1_200, height: 800) { browser in
                try await browser.open(url)
                try await browser.wait(
                    for: "document.querySelector('a.available')?.textContent === '2'", "two wait")
                try await jobs.enqueue(Letter())
                try await browser.wait(
                    for: "document.querySelector('a.available')?.textContent === '3'",
                    "the page shows a job that has come meanwhile")
                try await click("a.discarded", browser)
                try await browser.wait(
                    for: "document.querySelectorAll('.jobs tbody tr').length === 1", "one failed")
                try await click(".jobs a", browser)
                try await browser.wait(
                    for: "document.querySelector('.buttons button')?.textContent === 'Retry'",
                    "the job has a button")
                try await click(".buttons button", browser)
                try await browser.wait(
                    for: "document.querySelector('dl .state')?.textContent === 'available'",
                    "the job waits again")
                #expect(try await jobs.info(failed)?.state == .available)
            }
        }
    }

    private func click(_ selector: String, _ browser: Browser) async throws {
        _ = try await browser.evaluate("document.querySelector(\"\(selector)\").click()")
    }

    /// Writes what the browser shows to the folder that `DASHBOARD_PICTURES` names.
    private func keepPicture(_ browser: Browser, _ name: String) async throws {
        guard let folder = ProcessInfo.processInfo.environment["DASHBOARD_PICTURES"] else { return }
        try await browser.screenshot().write(to: URL(filePath: "\(folder)/\(name).png"))
    }

    /// Makes jobs in several states, and returns the one that has failed.
    private func makeJobs(in jobs: JobQueue) async throws -> JobID {
        let fine = try await jobs.enqueue(Letter())
        let broken = try await jobs.enqueue(
            Letter(message: "The address was refused.\n  at line 1\n  at line 2"))
        let worker = JobWorker(jobs, performing: [Letter.self], on: OperationQueue())
        let run = Task { try await worker.run() }
        _ = try await fine.value
        await #expect(throws: JobFailure.self) { try await broken.value }
        worker.stop()
        try await run.value
        let first = try await jobs.enqueue(Letter())
        try await jobs.enqueue(Letter())
        try await jobs.enqueue(Letter(), after: first)
        try await jobs.enqueue(Letter(), .delay(.seconds(3_600)))
        return broken.id
    }

    /// Serves the pages of a new queue, and calls a function with the queue and the address.
    private func withDashboard(
        _ body: @Sendable (JobQueue, String) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "dashboard-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let jobs = try await JobQueue(
            "letters", in: .file(folder.appending(path: "jobs.sqlite").path))
        let dashboard = JobDashboard(jobs, at: "/", allowsChanges: true)
        let token = GalleryToken()
        let server = PageServer(port: 0, token: token) { request, body in
            let response = await dashboard.respond(to: request, body: body)
            return (response.head, response.body)
        }
        let (ports, port) = AsyncStream<Int>.makeStream()
        let running = Task { try await server.run { port.yield($0) } }
        var first = ports.makeAsyncIterator()
        let number = try #require(await first.next())
        let result: Result<Void, any Error>
        do {
            result = .success(
                try await body(jobs, "http://localhost:\(number)/?token=\(token.text)"))
        } catch {
            result = .failure(error)
        }
        running.cancel()
        _ = await running.result
        await jobs.close()
        try result.get()
    }
}
