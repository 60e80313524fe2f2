#if DurableJobsDashboard
import DurableJobs

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The pages of a dashboard.
struct DashboardPages {
    typealias Place = DashboardRequest.Place

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

    static func address(of place: Place, _ root: String) -> String {
        let store = place.store.isEmpty ? "" : "/in/\(place.store.inAddress)"
        return "\(root)\(store)/queue/\(place.queue.inAddress)"
    }

    // MARK: All queues

    func overview(_ stores: [StoreReading]) -> Page {
        Page(
            title: "Jobs", trail: [],
            main: .joined(
                stores.map { store in
                    let title: HTML = store.title.isEmpty ? "" : "<h2>\(store.title)</h2>"
                    return "\(title)\(table(of: store))"
                }))
    }

    private func table(of store: StoreReading) -> HTML {
        let queues: [StoreReading.Queue]
        switch store.queues {
        case .success(let found): queues = found
        case .failure(let error):
            return "<p class=\"problem\">The store does not answer: \("\(error)")</p>"
        }
        guard !queues.isEmpty else { return "<p>The store has no jobs, and no workers.</p>" }
        let shown: [JobState] = [.available, .running, .scheduled, .retryable, .blocked]
        let heads = HTML.joined(
            shown.map { "<th scope=\"col\" class=\"number\">\($0.title)</th>" })
        let rows = HTML.joined(
            queues.map { queue in
                let address = address(of: Place(store: store.title, queue: queue.info.name))
                let cells = HTML.joined(
                    shown.map { cell(queue.info.counts[$0, default: 0], $0, address) })
                let mark: HTML = queue.pauses.isEmpty ? "" : " <span class=\"paused\">paused</span>"
                return """
                    <tr><th scope="row"><a href="\(address)">\(queue.info.name)</a>\(mark)</th>\
                    \(cells)\(cell(queue.info.discarded, .discarded, address))\
                    <td class="number">\(queue.info.workers)</td></tr>
                    """
            })
        return """
            <div class="wide"><table><thead><tr><th scope="col">Queue</th>\(heads)\
            <th scope="col" class="number">\(JobState.discarded.title)</th>\
            <th scope="col" class="number">Workers</th></tr></thead>\
            <tbody>\(rows)</tbody></table></div>
            """
    }

    private func cell(_ count: Int, _ state: JobState, _ address: String) -> HTML {
        if count == 0 { return "<td class=\"number none\">0</td>" }
        return """
            <td class="number"><a class="\(state.description)" \
            href="\(address)?state=\(state.description)">\(count.counted)</a></td>
            """
    }

    // MARK: One queue

    func queue(_ reading: QueueReading, _ place: Place, _ filter: DashboardFilter) -> Page {
        let address = address(of: place)
        return Page(
            title: place.queue, trail: trail(to: place),
            main: """
                \(pauses(reading.pauses, address))\(states(reading.info, filter, address))\
                \(search(filter, address))\(list(reading.jobs, filter, address))\
                \(workers(reading.workers, address))\(schedules(reading.schedules, address))
                """)
    }

    private func trail(to place: Place) -> [(title: String, address: String)] {
        [(place.store.isEmpty ? "Jobs" : "Jobs in \(place.store)", root + "/")]
    }

    private func pauses(_ pauses: [JobPause], _ address: String) -> HTML {
        let notes = HTML.joined(
            pauses.map { pause in
                let what: HTML =
                    pause.name.map { "Jobs of the type \($0) are" } ?? "The queue is"
                return """
                    <p class="pause">\(what) paused since \(moment(pause.since)): \
                    \(pause.reason)</p>
                    """
            })
        guard allowsChanges else { return notes }
        if pauses.contains(where: { $0.name == nil }) {
            return "\(notes)<div class=\"buttons\">\(button("Resume", "\(address)/resume"))</div>"
        }
        let reason: HTML = """
            <label>Reason <input name="reason" maxlength="200" autocomplete="off"></label>
            """
        return """
            \(notes)<div class="buttons">\(button("Pause the queue", "\(address)/pause", reason))\
            </div>
            """
    }

    private func states(
        _ info: JobQueueInfo?, _ filter: DashboardFilter, _ address: String
    ) -> HTML {
        let items = HTML.joined(
            ([nil] + JobState.allCases.map { $0 }).map { state in
                var number: HTML = ""
                switch state {
                case .completed, .cancelled, nil: break
                case .discarded: number = " <span>\((info?.discarded ?? 0).counted)</span>"
                case let state?: number = " <span>\((info?.counts[state] ?? 0).counted)</span>"
                }
                let current: HTML = state == filter.state ? " aria-current=\"page\"" : ""
                return """
                    <li><a\(current) href="\(address)\(filter.with(state: state).query)">\
                    \(state?.title ?? "All")\(number)</a></li>
                    """
            })
        return "<nav aria-label=\"States\"><ul class=\"states\">\(items)</ul></nav>"
    }

    private func search(_ filter: DashboardFilter, _ address: String) -> HTML {
        let state: HTML =
            filter.state.map {
                "<input type=\"hidden\" name=\"state\" value=\"\($0.description)\">"
            } ?? ""
        let isOldest: HTML = filter.isOldestFirst ? " selected" : ""
        return """
            <form class="find" action="\(address)" method="get">\(state)\
            <label>Type <input name="name" value="\(filter.name ?? "")" autocomplete="off"></label>\
            <label>Error contains <input name="error" value="\(filter.error ?? "")" \
            autocomplete="off"></label>\
            <label>Order <select name="order"><option value="newest">newest first</option>\
            <option value="oldest"\(isOldest)>oldest first</option></select></label>\
            <button>Show</button></form>
            """
    }

    private func list(_ jobs: JobPage, _ filter: DashboardFilter, _ address: String) -> HTML {
        var steps: HTML = ""
        if filter.after != nil {
            steps += "<a href=\"\(address)\(filter.with(after: nil).query)\">First page</a>"
        }
        if let next = jobs.next {
            steps += "<a href=\"\(address)\(filter.with(after: next).query)\">Next page</a>"
        }
        let links: HTML = "<p class=\"steps\">\(steps)</p>"
        if jobs.isEmpty {
            // A page reads a limited number of rows, of which none may match.
            let text = jobs.next == nil ? "There are no such jobs." : "None on this page."
            return "<p>\(text)</p>\(links)"
        }
        let rows = HTML.joined(jobs.map { row($0, address) })
        return """
            <div class="wide"><table class="jobs"><thead><tr><th scope="col">Job</th>\
            <th scope="col">Type</th><th scope="col">State</th><th scope="col">Time</th>\
            <th scope="col" class="number">Failures</th><th scope="col">Last error, or machine\
            </th></tr></thead><tbody>\(rows)</tbody></table></div>\(links)
            """
    }

    private func row(_ job: JobInfo, _ address: String) -> HTML {
        let note = job.error.map(Self.firstLine) ?? job.host ?? ""
        return """
            <tr><th scope="row"><a href="\(address)/job/\("\(job.id)")">\("\(job.id)")</a></th>\
            <td>\(job.name)</td><td>\(mark(job.state))</td><td>\(time(of: job))</td>\
            <td class="number">\(job.failures)</td><td class="note">\(note)</td></tr>
            """
    }

    private func workers(_ workers: [JobWorkerInfo], _ address: String) -> HTML {
        let rows = HTML.joined(
            workers.map { worker in
                let held = HTML.joined(
                    worker.jobs.prefix(8).map { id in
                        "<a href=\"\(address)/job/\("\(id)")\">\("\(id)")</a> "
                    })
                let more: HTML = worker.jobs.count > 8 ? "and \(worker.jobs.count - 8) more" : ""
                let state =
                    worker.isMissing ? "missing" : worker.isStopping ? "stopping" : "works"
                let types = worker.types.keys.sorted().joined(separator: ", ")
                return """
                    <tr><th scope="row">\(worker.host)</th><td class="number">\(worker.process)\
                    </td><td>\(state)</td><td class="number">\(worker.width)</td>\
                    <td>\(moment(worker.startedAt))</td><td class="note">\(types)</td>\
                    <td>\(held)\(more)</td></tr>
                    """
            })
        if workers.isEmpty { return "<h2>Workers</h2><p>No worker performs these jobs.</p>" }
        return """
            <h2>Workers</h2><div class="wide"><table><thead><tr><th scope="col">Machine</th>\
            <th scope="col" class="number">Process</th><th scope="col">State</th>\
            <th scope="col" class="number">Width</th><th scope="col">Started</th>\
            <th scope="col">Types</th><th scope="col">Holds</th></tr></thead>\
            <tbody>\(rows)</tbody></table></div>
            """
    }

    private func schedules(_ schedules: [JobScheduleInfo], _ address: String) -> HTML {
        guard !schedules.isEmpty else { return "" }
        let rows = HTML.joined(
            schedules.map { schedule in
                let path = "\(address)/schedule/\(schedule.name.inAddress)"
                let next: HTML =
                    schedule.pausedAt.map { "paused since \(moment($0))" }
                    ?? schedule.nextAt.map { moment($0) } ?? ""
                let last: HTML = schedule.lastAt.map { moment($0) } ?? "never"
                let job: HTML =
                    schedule.lastJob.map {
                        "<a href=\"\(address)/job/\("\($0)")\">\("\($0)")</a>"
                    } ?? ""
                var buttons: HTML = ""
                if allowsChanges {
                    buttons = button("Run now", "\(path)/run")
                    buttons +=
                        schedule.pausedAt == nil
                        ? button("Pause", "\(path)/pause") : button("Resume", "\(path)/resume")
                }
                return """
                    <tr><th scope="row">\(schedule.name)</th><td>\(schedule.times)</td>\
                    <td>\(schedule.job)</td><td>\(next)</td><td>\(last)</td><td>\(job)</td>\
                    <td><div class="buttons">\(buttons)</div></td></tr>
                    """
            })
        return """
            <h2>Schedules</h2><div class="wide"><table><thead><tr><th scope="col">Name</th>\
            <th scope="col">Times</th><th scope="col">Type</th><th scope="col">Next</th>\
            <th scope="col">Last</th><th scope="col">Last job</th>\
            <th scope="col"><span class="unseen">Changes</span></th></tr></thead>\
            <tbody>\(rows)</tbody></table></div>
            """
    }

    // MARK: One job

    func job(_ job: JobInfo, in place: Place, _ explanation: String) -> Page {
        var facts: [(String, HTML)] = [
            ("Type", "\(job.name)"), ("State", mark(job.state)),
            ("Attempts", "\(job.attempt)"), ("Failures", "\(job.failures)"),
            ("Retries left", "\(job.retriesLeft)"), ("Priority", "\("\(job.priority)")"),
            ("Enqueued", moment(job.enqueuedAt)),
        ]
        if let start = job.runAt { facts.append(("Begins", moment(start))) }
        if let start = job.startedAt { facts.append(("Last attempt", moment(start))) }
        if let end = job.endedAt { facts.append(("Ended", moment(end))) }
        if let time = job.runTime {
            facts.append(("Run time", "\(Self.text(Double(time.components.seconds)))"))
        }
        if let host = job.host { facts.append(("Machine", "\(host)")) }
        if job.deaths > 0 { facts.append(("Workers that died with it", "\(job.deaths)")) }
        if let batch = job.batch { facts.append(("Batch", "\("\(batch)")")) }
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
            trail: trail(to: place) + [(place.queue, address(of: place))],
            main: """
                <p class="explanation">\(Self.sentence(explanation))</p>\
                \(buttons(job, address(of: place)))<dl>\(list)</dl>\(error)
                """)
    }

    private func buttons(_ job: JobInfo, _ address: String) -> HTML {
        guard allowsChanges else { return "" }
        let changes: [(String, String)] =
            switch job.state {
            case .discarded, .cancelled: [("Retry", "retry")]
            case .retryable: [("Retry now", "retry"), ("Cancel", "cancel")]
            case .completed: []
            case .scheduled: [("Run now", "retry"), ("Cancel", "cancel")]
            case .blocked, .available: [("Cancel", "cancel")]
            case .running: [("Ask to stop", "cancel")]
            }
        let forms = HTML.joined(changes.map { button($0.0, "\(address)/job/\(job.id)/\($0.1)") })
        return "<div class=\"buttons\">\(forms)</div>"
    }

    // MARK: Parts

    private func address(of place: Place) -> String { Self.address(of: place, root) }

    private func button(_ title: String, _ address: String, _ more: HTML = "") -> HTML {
        """
        <form method="post" action="\(address)">\
        <input type="hidden" name="token" value="\(token)">\(more)<button>\(title)</button></form>
        """
    }

    private func mark(_ state: JobState) -> HTML {
        "<span class=\"state \(state.description)\">\(state.description)</span>"
    }

    /// The time that matters in a state: since when, or when.
    private func time(of job: JobInfo) -> HTML {
        switch job.state {
        case .running: "for \(Self.text(now.timeIntervalSince(job.startedAt ?? job.enqueuedAt)))"
        case .completed, .cancelled, .discarded: moment(job.endedAt ?? job.enqueuedAt)
        case .retryable, .scheduled: moment(job.runAt ?? job.enqueuedAt)
        case .blocked, .available: moment(job.enqueuedAt)
        }
    }

    private func moment(_ date: Date) -> HTML {
        let text = date.formatted(.iso8601)
        let distance = now.timeIntervalSince(date)
        let words = distance < 0 ? "in \(Self.text(-distance))" : "\(Self.text(distance)) ago"
        return "<time datetime=\"\(text)\" title=\"\(text)\">\(words)</time>"
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
        case .available: "Available"
        case .running: "Running"
        case .retryable: "Retryable"
        case .completed: "Completed"
        case .cancelled: "Cancelled"
        case .discarded: "Discarded"
        }
    }
}

extension Int {
    /// A number of jobs, of which the store counts ten thousand.
    fileprivate var counted: String {
        self < 10_000 ? grouped : "10\u{202F}000 or more"
    }

    /// The number with a space between thousands.
    private var grouped: String {
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
