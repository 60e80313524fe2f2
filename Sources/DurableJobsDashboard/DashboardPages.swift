#if DurableJobsDashboard
import DurableJobs

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a list of jobs shows, from the query of its address.
struct DashboardFilter {
    static let pageSize = 50

    let state: JobState?
    let name: String?
    /// The job after which the list begins.
    let after: JobID?

    init(_ query: [String: String]) {
        state = JobState.allCases.first { $0.description == query["state"] }
        name = query["name"].flatMap { $0.isEmpty ? nil : $0 }
        after = query["after"].flatMap { Int64($0) }.map { JobID($0) }
    }

    private init(_ state: JobState?, _ name: String?, _ after: JobID?) {
        (self.state, self.name, self.after) = (state, name, after)
    }

    func with(state: JobState?) -> DashboardFilter { DashboardFilter(state, name, nil) }
    func with(after id: JobID?) -> DashboardFilter { DashboardFilter(state, name, id) }

    var query: String {
        let values = [
            state.map { "state=\($0)" }, name.map { "name=\($0.inAddress)" },
            after.map { "after=\($0)" },
        ].compactMap(\.self)
        return values.isEmpty ? "" : "?" + values.joined(separator: "&")
    }
}

/// What is known of a queue; the reason if its store does not answer.
struct QueueReading: Sendable {
    let name: String
    let counts: Result<[JobState: Int], any Error>
}

extension [JobQueue] {
    /// Asks all queues at a time, because one of the stores may be slow.
    func concurrentlyRead() async -> [QueueReading] {
        await withTaskGroup { group in
            for (index, queue) in enumerated() {
                group.addTask {
                    do {
                        return (
                            index,
                            QueueReading(
                                name: queue.name, counts: .success(try await queue.counts()))
                        )
                    } catch {
                        return (index, QueueReading(name: queue.name, counts: .failure(error)))
                    }
                }
            }
            var all: [(Int, QueueReading)] = []
            for await reading in group { all.append(reading) }
            return all.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }
}

/// The pages of a dashboard.
struct DashboardPages {
    let root: String
    let allowsChanges: Bool
    let token: String
    var now = Date()

    /// A page, without what all pages have.
    struct Page {
        let title: String
        /// The pages above this one.
        let trail: [(title: String, address: String)]
        /// Whether the page is asked for again from time to time.
        var isRefreshed = true
        let main: HTML
    }

    // MARK: All queues

    func overview(_ queues: [QueueReading]) -> Page {
        let shown: [JobState] = [
            .available, .running, .scheduled, .retryable, .blocked, .completed, .cancelled,
            .discarded,
        ]
        let head = HTML.joined(shown.map { "<th scope=\"col\" class=\"number\">\($0.title)</th>" })
        let rows = HTML.joined(
            queues.map { reading in
                let address = address(of: reading.name)
                let cells: HTML
                switch reading.counts {
                case .success(let counts):
                    cells = .joined(
                        shown.map { state in
                            let count = counts[state, default: 0]
                            let number = count.grouped
                            if count == 0 { return "<td class=\"number none\">0</td>" }
                            return """
                                <td class="number"><a class="\(state.description)" \
                                href="\(address)?state=\(state.description)">\(number)</a></td>
                                """
                        })
                case .failure(let error):
                    cells = """
                        <td class="problem" colspan="\(shown.count)">\
                        The store does not answer: \("\(error)")</td>
                        """
                }
                return """
                    <tr><th scope="row"><a href="\(address)">\(reading.name)</a></th>\(cells)</tr>
                    """
            })
        let nothing: HTML = "<p>This dashboard has no queues.</p>"
        return Page(
            title: "Jobs", trail: [],
            main: queues.isEmpty
                ? nothing
                : """
                <div class="wide"><table><thead><tr><th scope="col">Queue</th>\(head)</tr></thead>\
                <tbody>\(rows)</tbody></table></div>
                """)
    }

    // MARK: One queue

    func list(_ queue: JobQueue, _ filter: DashboardFilter) async throws -> Page {
        let jobs = try await queue.list(
            states: filter.state.map { [$0] } ?? [], name: filter.name, after: filter.after,
            limit: DashboardFilter.pageSize + 1)
        return list(jobs, of: queue.name, filter, try await queue.counts())
    }

    func list(
        _ jobs: [JobInfo], of name: String, _ filter: DashboardFilter, _ counts: [JobState: Int]
    ) -> Page {
        let address = address(of: name)
        let states = HTML.joined(
            ([nil] + JobState.allCases.map { $0 }).map { state in
                let count = state.map { counts[$0, default: 0] } ?? counts.values.reduce(0, +)
                let current: HTML = state == filter.state ? " aria-current=\"page\"" : ""
                return """
                    <li><a\(current) href="\(address)\(filter.with(state: state).query)">\
                    \(state?.title ?? "All") <span>\(count.grouped)</span></a></li>
                    """
            })
        let hidden: HTML =
            filter.state.map {
                "<input type=\"hidden\" name=\"state\" value=\"\($0.description)\">"
            }
            ?? ""
        let search: HTML = """
            <form class="find" action="\(address)" method="get">\(hidden)\
            <label>Type of job <input name="name" value="\(filter.name ?? "")" \
            placeholder="all types" autocomplete="off"></label><button>Show</button></form>
            """
        let page = jobs.prefix(DashboardFilter.pageSize)
        let rows = HTML.joined(page.map { row($0, in: name) })
        var steps: HTML = ""
        if filter.after != nil {
            steps += "<a href=\"\(address)\(filter.with(after: nil).query)\">First page</a>"
        }
        if jobs.count > page.count, let last = page.last {
            steps += "<a href=\"\(address)\(filter.with(after: last.id).query)\">Next page</a>"
        }
        let table: HTML =
            page.isEmpty
            ? "<p>There are no such jobs.</p>"
            : """
            <div class="wide"><table class="jobs"><thead><tr><th scope="col">Job</th>\
            <th scope="col">Type</th><th scope="col">State</th><th scope="col">Time</th>\
            <th scope="col" class="number">Attempts</th><th scope="col">Last error, or machine\
            </th></tr></thead><tbody>\(rows)</tbody></table></div>
            """
        return Page(
            title: name, trail: [("Jobs", root + "/")],
            main: """
                <nav aria-label="States"><ul class="states">\(states)</ul></nav>\(search)\(table)\
                <p class="steps">\(steps)</p>
                """)
    }

    private func row(_ job: JobInfo, in queue: String) -> HTML {
        let link = address(of: job.id, in: queue)
        let note = job.error.map(Self.firstLine) ?? job.host ?? ""
        return """
            <tr><th scope="row"><a href="\(link)">\("\(job.id)")</a></th><td>\(job.name)</td>\
            <td>\(mark(job.state))</td><td>\(time(of: job))</td>\
            <td class="number">\(job.attempt)</td><td class="note">\(note)</td></tr>
            """
    }

    // MARK: One job

    func job(_ job: JobInfo, in queue: String, _ explanation: String) -> Page {
        var facts: [(String, HTML)] = [
            ("Type", "\(job.name)"), ("State", mark(job.state)),
            ("Attempts", "\(job.attempt)"),
            ("Priority", "\("\(job.priority)")"),
            ("Enqueued", moment(job.enqueuedAt)),
        ]
        if let start = job.startedAt { facts.append(("Last attempt", moment(start))) }
        if let end = job.endedAt { facts.append(("Ended", moment(end))) }
        if let host = job.host { facts.append(("Machine", "\(host)")) }
        let list = HTML.joined(facts.map { "<div><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" })
        let error: HTML =
            job.error.map {
                """
                <h2>\(job.state == .cancelled ? "Why it was cancelled" : "Last error")</h2>\
                <pre tabindex="0">\($0)</pre>
                """
            } ?? ""
        return Page(
            title: "Job \(job.id)",
            trail: [("Jobs", root + "/"), (queue, address(of: queue))],
            main: """
                <p class="explanation">\(Self.sentence(explanation))</p>\(buttons(job, in: queue))\
                <dl>\(list)</dl>\(error)
                """)
    }

    private func buttons(_ job: JobInfo, in queue: String) -> HTML {
        guard allowsChanges else { return "" }
        let changes: [(DashboardRequest.Change, String)] =
            switch job.state {
            case .discarded, .cancelled: [(.retry, "Retry")]
            case .retryable: [(.retry, "Retry now"), (.cancel, "Cancel")]
            case .completed: []
            case .blocked, .scheduled, .available: [(.cancel, "Cancel")]
            case .running: [(.cancel, "Ask to stop")]
            }
        let forms = HTML.joined(
            changes.map { change, title in
                """
                <form method="post" action="\(address(of: job.id, in: queue))/\(change.rawValue)">\
                <input type="hidden" name="token" value="\(token)"><button>\(title)</button></form>
                """
            })
        return "<div class=\"buttons\">\(forms)</div>"
    }

    // MARK: Parts

    private func address(of queue: String) -> String { "\(root)/queue/\(queue.inAddress)" }

    private func address(of job: JobID, in queue: String) -> String {
        "\(address(of: queue))/job/\(job)"
    }

    private func mark(_ state: JobState) -> HTML {
        "<span class=\"state \(state.description)\">\(state.description)</span>"
    }

    /// The time that matters in a state, as a duration: since when, or how long it took.
    private func time(of job: JobInfo) -> HTML {
        switch job.state {
        case .running: "for \(Self.text(now.timeIntervalSince(job.startedAt ?? job.enqueuedAt)))"
        case .completed, .cancelled, .discarded: moment(job.endedAt ?? job.enqueuedAt)
        case .retryable: moment(job.startedAt ?? job.enqueuedAt)
        case .blocked, .scheduled, .available: moment(job.enqueuedAt)
        }
    }

    private func moment(_ date: Date) -> HTML {
        let text = date.formatted(.iso8601)
        return """
            <time datetime="\(text)" title="\(text)">\
            \(Self.text(now.timeIntervalSince(date))) ago</time>
            """
    }

    /// A duration in its two greatest units, as people say it.
    static func text(_ interval: Double) -> String {
        let seconds = Int(max(0, interval.rounded(.down)))
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3_600: return "\(seconds / 60) min \(seconds % 60) s"
        case ..<86_400: return "\(seconds / 3_600) h \(seconds % 3_600 / 60) min"
        default: return "\(seconds / 86_400) d \(seconds % 86_400 / 3_600) h"
        }
    }

    private static func firstLine(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isNewline).first.map { String($0) } ?? ""
        return line.count > 160 ? line.prefix(159) + "…" : line
    }

    private static func sentence(_ text: String) -> String {
        let first = text.prefix(1).uppercased() + text.dropFirst()
        return first.hasSuffix(".") ? first : first + "."
    }
}

extension DashboardPages.Page {
    /// The whole page.
    func html(root: String) -> HTML {
        let script: HTML =
            isRefreshed ? "<script src=\"\(root)/refresh.js\" defer></script>" : ""
        let parents = HTML.joined(
            trail.map { "<li><a href=\"\($0.address)\">\($0.title)</a></li>" })
        let above: HTML =
            trail.isEmpty ? "" : "<nav aria-label=\"Pages above\"><ol>\(parents)</ol></nav>"
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><title>\(title)</title>\
            <meta name="viewport" content="width=device-width, initial-scale=1">\
            <link rel="stylesheet" href="\(root)/style.css">\(script)</head><body>\
            <header>\(above)<h1>\(title)</h1><p id="age" role="status"></p></header>\
            <main>\(main)</main></body></html>

            """
    }
}

extension JobState {
    /// The state as a heading.
    fileprivate var title: String {
        switch self {
        case .blocked: "Blocked"
        case .scheduled: "Scheduled"
        case .available: "Waiting"
        case .running: "Running"
        case .retryable: "To retry"
        case .completed: "Completed"
        case .cancelled: "Cancelled"
        case .discarded: "Failed"
        }
    }
}

extension Int {
    /// The number with a space between thousands.
    fileprivate var grouped: String {
        var digits = String(self)
        var place = digits.count - 3
        while place > 0 {
            digits.insert("\u{202F}", at: digits.index(digits.startIndex, offsetBy: place))
            place -= 3
        }
        return digits
    }
}
#endif
