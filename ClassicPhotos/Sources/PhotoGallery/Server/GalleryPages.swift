import Hummingbird
import PhotoLibrary
import PhotoPipeline

/// The open pages and their sessions.
///
/// A page's session begins with its first event stream. When the last stream ends, the page's work
/// ends within a second, and the session some seconds later, unless the page returns: browsers
/// reconnect by themselves.
actor GalleryPages {
    private struct Page {
        let session: PhotoListSession
        /// Distinguishes this session from earlier ones of the same page; see ``EventID``.
        let number = UInt32.random(in: .min ... .max)
        var streams = 0
        /// The sequence number of the latest viewport report.
        var sequence = 0
        /// Whether a report is being processed.
        var isReporting = false
        /// The latest report that arrived during processing; it replaces earlier ones.
        var nextReport: Report?
        /// Distinguishes the current closing from cancelled ones.
        var visits = 0
    }

    /// The effect of a page's report on its session.
    typealias Report = @Sendable (PhotoListSession) async -> Void

    /// The contents that all sessions have.
    private var contents: PhotoCatalog.Contents
    private let options: PhotoListSession.Options
    /// Loads the photos of all pages, so that pages share them and a reload downloads nothing.
    private let loader: PhotoLoader
    private let limits: GalleryLimits
    private var pages: [PageID: Page] = [:]
    /// Called when the last page was closed, on a thread that must not block.
    private let emptied: @Sendable () -> Void

    init(
        catalog: PhotoCatalog, options: PhotoListSession.Options, loader: PhotoLoader,
        limits: GalleryLimits, emptied: @escaping @Sendable () -> Void = {}
    ) {
        contents = catalog.contents
        self.options = options
        self.loader = loader
        self.limits = limits
        self.emptied = emptied
    }

    /// Registers an event stream of a page; creates the session for the first stream.
    func streamOpened(_ id: PageID) throws -> (session: PhotoListSession, number: UInt32) {
        guard pages.values.reduce(0, { $0 + $1.streams }) < limits.streams else {
            throw HTTPError(
                .serviceUnavailable,
                message: "\(limits.streams) event streams are already open. Close a page.")
        }
        var page: Page
        if let known = pages[id] {
            guard known.streams < limits.streamsPerPage else {
                throw HTTPError(
                    .tooManyRequests,
                    message: "This page already has \(known.streams) event streams. Reload it.")
            }
            page = known
        } else {
            guard pages.count < limits.pages else {
                throw HTTPError(
                    .serviceUnavailable,
                    message: "\(limits.pages) pages are already open. Close a page.")
            }
            page = Page(
                session: PhotoListSession(
                    contents: contents, options: options, loader: loader))
        }
        page.streams += 1
        page.visits += 1
        // A reloaded page starts its sequence numbers again.
        page.sequence = 0
        pages[id] = page
        return (page.session, page.number)
    }

    /// Registers the end of a page's event stream.
    func streamClosed(_ id: PageID) {
        guard var page = pages[id] else { return }
        page.streams -= 1
        pages[id] = page
        guard page.streams == 0 else { return }
        let visits = page.visits
        let limits = limits
        Task {
            try await Task.sleep(for: limits.leavingTime)
            await cancelWork(of: id, unlessVisitedSince: visits)
            try await Task.sleep(for: limits.returnTime - limits.leavingTime)
            await close(id, unlessVisitedSince: visits)
        }
    }

    private func cancelWork(of id: PageID, unlessVisitedSince visits: Int) async {
        guard let page = pages[id], page.visits == visits else { return }
        await page.session.pageLeft()
    }

    private func close(_ id: PageID, unlessVisitedSince visits: Int) async {
        guard let page = pages[id], page.visits == visits else { return }
        pages[id] = nil
        await page.session.close()
        if pages.isEmpty { emptied() }
    }

    /// Shows the changed contents of the catalog on all pages.
    func listChanged(_ change: PhotoCatalog.Change) async {
        // A page that opens from now on begins with them.
        contents = change.contents
        for page in Array(pages.values) { await page.session.listChanged(change) }
    }

    /// Tells the pages what the files of some photos say.
    func factsFound(_ photos: Set<PhotoID>) async {
        for page in Array(pages.values) { await page.session.factsFound(photos) }
    }

    /// The session of an open page.
    func session(_ id: PageID) throws -> PhotoListSession {
        guard let page = pages[id] else {
            throw HTTPError(.gone, message: "The server no longer knows this page. Reload it.")
        }
        return page.session
    }

    /// Processes a report of a page, unless a later report has arrived first: reports may overtake
    /// each other.
    ///
    /// Only one report of a page is processed at a time. Of the reports that arrive meanwhile, only
    /// the latest is kept, so a page that reports faster than the session can follow still reaches
    /// its latest state and costs no memory. The call returns immediately for such reports.
    ///
    /// - Parameter sequence: the number of the report; later reports have greater numbers.
    func report(_ id: PageID, sequence: Int, _ report: @escaping Report) async throws {
        let session = try session(id)
        guard let page = pages[id], sequence > page.sequence else { return }
        pages[id]?.sequence = sequence
        guard !page.isReporting else {
            pages[id]?.nextReport = report
            return
        }
        pages[id]?.isReporting = true
        var next: Report? = report
        while let report = next {
            await report(session)
            // Meanwhile the page may have closed, and another page may have opened under the same
            // identifier.
            guard pages[id]?.session === session else { return }
            next = pages[id]?.nextReport
            pages[id]?.nextReport = nil
        }
        pages[id]?.isReporting = false
    }

    /// The numbers of pages and streams, and the state of the pages' queues by name.
    func status() async -> (pages: Int, streams: Int, gauges: [String: [QueueGauge]]) {
        let all = Array(pages.values)
        var gauges: [QueueGauge] = []
        for page in all { gauges += await page.session.gauges }
        return (
            all.count, all.reduce(0) { $0 + $1.streams }, Dictionary(grouping: gauges, by: \.name)
        )
    }

    func closeAll() async {
        let sessions = pages.values.map(\.session)
        pages = [:]
        for session in sessions { await session.close() }
    }
}
