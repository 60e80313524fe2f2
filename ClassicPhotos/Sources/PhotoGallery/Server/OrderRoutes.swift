import Departures
import HTTPTypes
import Hummingbird
import NIOCore
import Operations
import PhotoLibrary

/// The route that finds and sorts rows.
struct OrderRoutes {
    private let catalog: PhotoCatalog
    private let index: PhotoIndex
    private let pages: GalleryPages
    /// Sorting a long list takes too long for an event loop, and only one sort runs at a time.
    private let queue = OperationQueue()

    private static let queryLength = 200

    init(catalog: PhotoCatalog, index: PhotoIndex, pages: GalleryPages) {
        self.catalog = catalog
        self.index = index
        self.pages = pages
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
        guard let key = PhotoIndex.SortKey(rawValue: parameters.get("sort") ?? "list") else {
            let keys = PhotoIndex.SortKey.allCases.map(\.rawValue).joined(separator: ", ")
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
        let (index, queue, kind) = (index, queue, state)
        // Without all dates, the order would change while a person scrolls. A search by names is
        // answered at once; titles and keywords may add photos to it later.
        let isComplete = key == .date || parameters.get("complete") != nil
        let isPartial = !isComplete && !query.isEmpty && !index.isReady(for: contents)
        let rows = try await context.whileConnected {
            if isComplete { await index.ready(for: contents) }
            let search = queue.add("Search") {
                index.rows(
                    of: contents, matching: query, sortedBy: key, in: kind, states: states)
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
        let list = rows.map(String.init).joined(separator: ",")
        body.writeString("{\"rows\":[\(list)]\(isPartial ? ",\"partial\":true" : "")}")
        return Response(
            status: .ok,
            headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: body))
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
