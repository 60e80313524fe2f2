import Hummingbird
import PhotoPipeline

/// The open pages and their sessions.
///
/// A page's session begins with its first stream of events. It ends some seconds after the last stream
/// has, unless the page comes back: browsers reconnect by themselves after a break.
actor GalleryPages {
    private struct Page {
        let session: PhotoListSession
        var streams = 0
        /// The newest report of its viewport.
        var sequence = 0
        /// Whether a report is being acted on.
        var isReporting = false
        /// The newest report that came meanwhile; those before it are of no interest any more.
        var nextReport: Report?
        /// Tells closings that were called off from the one that counts.
        var visits = 0
    }

    /// What a report of a page makes its session do.
    typealias Report = @Sendable (PhotoListSession) async -> Void

    private static let grace: Duration = .seconds(10)

    private let records: [PhotoRecord]
    private let options: PhotoListSession.Options
    private let downloader: PhotoDownloader
    private let limits: GalleryLimits
    private var pages: [PageID: Page] = [:]

    init(
        records: [PhotoRecord], options: PhotoListSession.Options, downloader: PhotoDownloader,
        limits: GalleryLimits
    ) {
        self.records = records
        self.options = options
        self.downloader = downloader
        self.limits = limits
    }

    /// A page begins to listen; its session is made if this is the first time.
    func streamOpened(_ id: PageID) throws -> PhotoListSession {
        guard pages.values.reduce(0, { $0 + $1.streams }) < limits.streams else {
            throw HTTPError(
                .serviceUnavailable,
                message: "\(limits.streams) streams of events are open already. Close a page.")
        }
        var page: Page
        if let known = pages[id] {
            guard known.streams < limits.streamsPerPage else {
                throw HTTPError(
                    .tooManyRequests,
                    message: "This page has \(known.streams) streams of events already. Reload it.")
            }
            page = known
        } else {
            guard pages.count < limits.pages else {
                throw HTTPError(
                    .serviceUnavailable,
                    message: "\(limits.pages) pages are open already. Close one.")
            }
            page = Page(
                session: PhotoListSession(
                    records: records, options: options, downloader: downloader))
        }
        page.streams += 1
        page.visits += 1
        // A page that was loaded anew counts from one again.
        page.sequence = 0
        pages[id] = page
        return page.session
    }

    /// A page's stream broke or ended.
    func streamClosed(_ id: PageID) {
        guard var page = pages[id] else { return }
        page.streams -= 1
        pages[id] = page
        guard page.streams == 0 else { return }
        let visits = page.visits
        Task {
            try await Task.sleep(for: Self.grace)
            await close(id, unlessVisitedSince: visits)
        }
    }

    private func close(_ id: PageID, unlessVisitedSince visits: Int) async {
        guard let page = pages[id], page.visits == visits else { return }
        pages[id] = nil
        await page.session.close()
    }

    /// The session of an open page.
    func session(_ id: PageID) throws -> PhotoListSession {
        guard let page = pages[id] else {
            throw HTTPError(.gone, message: "This page is not known any more. Reload it.")
        }
        return page.session
    }

    /// Acts on a report of a page, unless a newer one has come before it: reports can overtake each other.
    ///
    /// One report of a page is acted on at a time. Of those that come meanwhile only the newest is kept, so
    /// that a page that reports faster than the work can follow gets the newest state, and costs no
    /// memory. Such reports return at once.
    ///
    /// - Parameter sequence: the number of the report, which rises.
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
            // The page may have gone meanwhile, and another one may have come under its name.
            guard pages[id]?.session === session else { return }
            next = pages[id]?.nextReport
            pages[id]?.nextReport = nil
        }
        pages[id]?.isReporting = false
    }

    func closeAll() async {
        let sessions = pages.values.map(\.session)
        pages = [:]
        for session in sessions { await session.close() }
    }
}
