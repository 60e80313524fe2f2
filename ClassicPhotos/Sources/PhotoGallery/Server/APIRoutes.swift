import HTTPTypes
import Hummingbird
import NIOCore
import PhotoImaging
import PhotoLibrary
import PhotoPipeline

/// The routes under /api. Pages identify a photo by its row; no route accepts a URL or a path.
struct APIRoutes {
    private let configuration: GalleryServer.Configuration
    private let catalog: PhotoCatalog
    private let pages: GalleryPages

    init(
        configuration: GalleryServer.Configuration, catalog: PhotoCatalog, pages: GalleryPages
    ) {
        self.configuration = configuration
        self.catalog = catalog
        self.pages = pages
    }

    func add(to group: RouterGroup<GalleryRequestContext>) {
        group.get("photos", use: photos)
        group.get("events", use: events)
        group.head("events", use: eventsHead)
        group.post("viewport", use: viewport)
        group.post("retry", use: retry)
    }

    // MARK: The list

    private struct PhotosAnswer: ResponseEncodable {
        struct Photo: Encodable {
            /// Empty for a row without a photo.
            let id: String
            let name: String
            /// What the file says of its photo; absent until it was read, as are the color without
            /// a small picture in the file, and the title without one.
            var width: Int?
            var height: Int?
            var color: String?
            var title: String?

            init(_ record: PhotoRecord?, _ facts: PhotoFacts?) {
                id = record?.id.description ?? ""
                name = record?.name.onOneLine ?? ""
                width = facts?.size?.width
                height = facts?.size?.height
                color = facts?.color.map(EventMessage.text)
                title = facts?.title?.onOneLine
            }
        }

        let title: String
        let filter: String
        /// The number of photos; there may be more rows.
        let total: Int
        let inRowOrder: Bool
        /// The number of changes of the list so far.
        let revision: Int
        let offset: Int
        let photos: [Photo]
    }

    @Sendable private func photos(_ request: Request, _: GalleryRequestContext) -> PhotosAnswer {
        let contents = catalog.contents
        let count = contents.records.count
        let offset = request.uri.queryParameters.get("offset", as: Int.self) ?? 0
        let limit = request.uri.queryParameters.get("limit", as: Int.self) ?? 500
        let start = min(max(0, offset), count)
        let end = start + min(max(0, limit), 1_000, count - start)
        let filters = configuration.options.filters.map(\.description)
        let records = (start..<end).map { contents.record(at: $0) }
        let facts = configuration.options.index.facts(of: records.map(\.?.id))
        return PhotosAnswer(
            title: configuration.title.onOneLine, filter: filters.joined(separator: ", "),
            total: contents.rows.count, inRowOrder: contents.isInRowOrder,
            revision: contents.revision, offset: start,
            photos: zip(records, facts).map { .init($0, $1) })
    }

    // MARK: Events

    private static let eventHeaders: HTTPFields = [
        .contentType: "text/event-stream", .cacheControl: "no-store",
    ]

    /// Responds to HEAD without opening a stream, which would count as a listening page.
    @Sendable private func eventsHead(
        _ request: Request, _: GalleryRequestContext
    ) throws -> Response {
        _ = try request.pageID()
        return Response(status: .ok, headers: Self.eventHeaders)
    }

    @Sendable private func events(
        _ request: Request, _: GalleryRequestContext
    ) async throws -> Response {
        let id = try request.pageID()
        let page = try await pages.streamOpened(id)
        let latest = request.headers[.lastEventID].flatMap { EventID($0) }
        let stream = EventStream(page, after: latest)
        return Response(
            status: .ok,
            headers: Self.eventHeaders,
            body: ResponseBody { writer in
                let result: Result<Void, any Error>
                do {
                    try await request.body.consumeWithCancellationOnInboundClose { _ in
                        try await stream.write(to: &writer)
                    }
                    result = .success(())
                } catch {
                    result = .failure(error)
                }
                await pages.streamClosed(id)
                try result.get()
                try await writer.finish(nil)
            })
    }

    // MARK: Reports of the page

    private struct ViewportReport: Decodable {
        let page: PageID
        /// The visible rows in the order in which they are shown, or the first and the last row of
        /// a list in its own order.
        let rows: [Int]?
        let first: Int?
        let last: Int?
        let phase: ScrollPhase
        let sequence: Int
    }

    @Sendable private func viewport(
        _ request: Request, _ context: GalleryRequestContext
    ) async throws -> HTTPResponse.Status {
        let report = try await request.decode(as: ViewportReport.self, context: context)
        if let rows = report.rows {
            let rows = middle(of: rows)
            try await pages.report(report.page, sequence: report.sequence) { session in
                await session.scrolled(to: rows, report.phase)
            }
            return .noContent
        }
        guard let first = report.first, let last = report.last, first >= 0, last >= first,
            last < Int.max
        else {
            throw HTTPError(
                .badRequest, message: "The first and last rows of the viewport are invalid.")
        }
        let rows = middle(of: first..<(last + 1))
        try await pages.report(report.page, sequence: report.sequence) { session in
            await session.scrolled(to: rows, report.phase)
        }
        return .noContent
    }

    /// The given rows, or the rows in the middle if the range exceeds the limit of visible rows.
    private func middle(of rows: Range<Int>) -> Range<Row> {
        let count = min(rows.count, max(configuration.limits.visibleRows, 1))
        let first = rows.lowerBound + (rows.count - count) / 2
        return Row(first)..<Row(first + count)
    }

    private func middle(of rows: [Int]) -> [Row] {
        let count = min(rows.count, max(configuration.limits.visibleRows, 1))
        return rows.dropFirst((rows.count - count) / 2).prefix(count).map { Row($0) }
    }

    private struct RetryRequest: Decodable {
        let page: PageID
        /// The row to retry; nil together with `all`.
        let row: Int?
        /// Whether to retry all failed rows.
        let all: Bool?
    }

    @Sendable private func retry(
        _ request: Request, _ context: GalleryRequestContext
    ) async throws -> HTTPResponse.Status {
        let retry = try await request.decode(as: RetryRequest.self, context: context)
        let session = try await pages.session(retry.page)
        switch (retry.row, retry.all ?? false) {
        case (let row?, false): await session.retryRequested(Row(row))
        case (nil, true): await session.retryOfAllRequested()
        case (nil, false), (_?, true):
            throw HTTPError(.badRequest, message: "A retry names a row, or all rows.")
        }
        return .noContent
    }
}
