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
        /// Tells closings that were called off from the one that counts.
        var visits = 0
    }

    static let maximumPages = 64
    private static let grace: Duration = .seconds(10)

    private let records: [PhotoRecord]
    private let options: PhotoListSession.Options
    private let downloader: PhotoDownloader
    private var pages: [PageID: Page] = [:]

    init(
        records: [PhotoRecord], options: PhotoListSession.Options, downloader: PhotoDownloader
    ) {
        self.records = records
        self.options = options
        self.downloader = downloader
    }

    /// A page begins to listen; its session is made if this is the first time.
    func streamOpened(_ id: PageID) throws -> PhotoListSession {
        var page: Page
        if let known = pages[id] {
            page = known
        } else {
            guard pages.count < Self.maximumPages else {
                throw HTTPError(
                    .serviceUnavailable,
                    message: "\(Self.maximumPages) pages are open already. Close one.")
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

    /// Notes a report of a viewport; false if a newer one has come before it.
    func isNews(_ id: PageID, sequence: Int) -> Bool {
        guard let page = pages[id], sequence > page.sequence else { return false }
        pages[id]?.sequence = sequence
        return true
    }

    func closeAll() async {
        let sessions = pages.values.map(\.session)
        pages = [:]
        for session in sessions { await session.close() }
    }
}
