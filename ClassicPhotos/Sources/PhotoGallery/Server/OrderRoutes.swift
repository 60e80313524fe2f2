import Departures
import HTTPTypes
import Hummingbird
import NIOCore
import Operations
@_spi(ClassicPhotos) import PhotoPipeline
import Synchronization

/// The route that finds and sorts rows.
struct OrderRoutes {
    private let catalog: PhotoCatalog
    private let facts: PhotoFactTable
    private let dates: PhotoDates
    /// What is prepared for the latest contents that were asked for.
    private let prepared: Prepared
    private let pages: GalleryPages
    /// Sorting a long list takes too long for an event loop, and only one sort runs at a time.
    private let queue = OperationQueue()

    private static let queryLength = 200

    private final class Prepared: Sendable {
        let order = Mutex<(revision: Int, order: PhotoOrder)?>(nil)
    }

    init(
        catalog: PhotoCatalog, facts: PhotoFactTable, dates: PhotoDates, pages: GalleryPages
    ) {
        self.dates = dates
        self.catalog = catalog
        self.facts = facts
        self.pages = pages
        prepared = Prepared()
        queue.name = "Search queue"
        queue.maxConcurrentOperationCount = 1
    }

    func add(to group: RouterGroup<GalleryRequestContext>) {
        group.get("order", use: rows)
    }

    @Sendable private func rows(
        _ request: Request, _ context: GalleryRequestContext
    ) async throws -> Response {
        let parameters = request.uri.queryParameters
        let query = parameters.get("query") ?? ""
        guard query.utf8.count <= Self.queryLength else {
            throw HTTPError(
                .badRequest, message: "A search has at most \(Self.queryLength) bytes.")
        }
        guard let key = PhotoOrder.Key(rawValue: parameters.get("sort") ?? "list") else {
            let keys = PhotoOrder.Key.allCases.map(\.rawValue).joined(separator: ", ")
            throw HTTPError(.badRequest, message: "Photos can be sorted by: \(keys).")
        }
        var state: PhotoState.Kind?
        if let text = parameters.get("state"), !text.isEmpty {
            state = PhotoState.Kind(rawValue: text)
            guard state != nil else {
                let states = PhotoState.Kind.allCases.map(\.rawValue).joined(separator: ", ")
                throw HTTPError(.badRequest, message: "The states of photos are: \(states).")
            }
        }
        let states = try await states(of: parameters.get("page"))
        let contents = catalog.contents
        let (order, queue, kind) = (order(contents), queue, state)
        let rows = try await context.whileConnected {
            // Without all of them, the order would change while a person scrolls.
            if key == .date { await dates.ready(for: contents) }
            let search = queue.add("Search") {
                order.rows(matching: query, sortedBy: key, in: kind, states: states)
            }
            return await withTaskCancellationHandler {
                await search.finished()
                return try? search.result
            } onCancel: {
                search.cancel()
            }
        }
        guard let rows else {
            throw HTTPError(.serviceUnavailable, message: "The request was cancelled.")
        }
        var body = ByteBuffer()
        body.writeString("{\"rows\":[\(rows.map(String.init).joined(separator: ","))]}")
        return Response(
            status: .ok,
            headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: body))
    }

    /// Finds and sorts the present photos.
    private func order(_ contents: PhotoCatalog.Contents) -> PhotoOrder {
        prepared.order.withLock { prepared in
            if let prepared, prepared.revision == contents.revision { return prepared.order }
            let order = PhotoOrder(contents: contents, facts: facts, dates: dates)
            prepared = (contents.revision, order)
            return order
        }
    }

    /// The states on a page; without a page, the states in which all pages begin.
    private func states(of page: String?) async throws -> [PhotoState] {
        guard let page else { return catalog.contents.records.map(\.state) }
        guard let id = PageID(page) else {
            throw HTTPError(
                .badRequest, message: "The page identifier must have 32 hexadecimal digits.")
        }
        return try await pages.session(id).states
    }
}
