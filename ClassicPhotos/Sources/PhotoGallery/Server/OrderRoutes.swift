import Departures
import HTTPTypes
import Hummingbird
import NIOCore
import Operations
@_spi(ClassicPhotos) import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The route that finds and sorts rows. With the parameter `layout`, it also tells the photos'
/// proportions and sections, by which a page lays them out before they are decoded.
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
        let hasLayout = parameters.get("layout") != nil
        let isPartial =
            !isComplete && (!query.isEmpty || hasLayout) && !index.isReady(for: contents)
        let answer = try await context.whileConnected {
            if isComplete { await index.ready(for: contents) }
            let search = queue.add("Search") {
                Answer(
                    index.rows(
                        of: contents, matching: query, sortedBy: key, in: kind, states: states),
                    arrangedBy: hasLayout ? index : nil, contents, key)
            }
            return await withTaskCancellationHandler {
                await search.finished()
                return try? search.result
            } onCancel: {
                search.cancel()
            }
        }
        guard let answer else {
            throw HTTPError(.serviceUnavailable, message: "The request was cancelled.")
        }
        return Response(
            status: .ok,
            headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(
                byteBuffer: try answer.json(isPartial: isPartial, count: contents.records.count)))
    }

    private struct Answer: Sendable {
        let rows: [Int]
        /// nil if the page lays out its photos without knowing them.
        let arrangement: PhotoArrangement?

        private struct Section: Encodable {
            let name: String
            let count: Int
        }

        init(
            _ rows: [Int], arrangedBy index: PhotoIndex?, _ contents: PhotoCatalog.Contents,
            _ key: PhotoIndex.SortKey
        ) {
            let arrangement = index?.arrangement(of: rows, in: contents, sortedBy: key)
            self.rows = arrangement?.rows ?? rows
            self.arrangement = arrangement
        }

        /// Rows and proportions are many numbers, which are written faster here.
        ///
        /// - Parameter count: the number of all rows. With an arrangement, rows that are all of
        ///   them in their order are left out.
        func json(isPartial: Bool, count: Int) throws -> ByteBuffer {
            func list(_ numbers: [Int]) -> String {
                "[" + numbers.map(String.init).joined(separator: ",") + "]"
            }
            var parts: [String] = []
            if arrangement == nil || rows != Array(0..<count) {
                parts.append("\"rows\":\(list(rows))")
            }
            if let arrangement {
                parts.append("\"shapes\":\(list(arrangement.shapes))")
                let sections = arrangement.sections.map { Section(name: $0.name, count: $0.count) }
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
                let json = try encoder.encode(sections)
                parts.append("\"sections\":\(String(decoding: json, as: UTF8.self))")
            }
            if isPartial { parts.append("\"partial\":true") }
            return ByteBuffer(string: "{\(parts.joined(separator: ","))}")
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
