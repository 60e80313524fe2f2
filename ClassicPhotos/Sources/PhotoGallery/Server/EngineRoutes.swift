import HTTPTypes
import Hummingbird
import NIOCore
import Operations
import OperationsInsight
import PhotoLibrary

/// The routes by which a person watches and changes the machinery of a page.
struct EngineRoutes {
    private let pages: GalleryPages
    /// Writing a timeline takes too long for an event loop.
    private let queue = OperationQueue()

    private static let widths = 1...64

    init(pages: GalleryPages) {
        self.pages = pages
        queue.name = "Timeline queue"
        queue.maxConcurrentOperationCount = 1
    }

    func add(to group: RouterGroup<GalleryRequestContext>) {
        group.post("engine", use: change)
        group.post("engine/watch", use: watch)
        group.post("engine/mode", use: mode)
        group.get("engine/timeline", use: timeline)
    }

    private struct Watching: Decodable {
        let page: PageID
        let on: Bool
    }

    @Sendable private func watch(
        _ request: Request, _ context: GalleryRequestContext
    ) async throws -> HTTPResponse.Status {
        let watching = try await request.decode(as: Watching.self, context: context)
        try await pages.session(watching.page).watchEngine(watching.on)
        return .noContent
    }

    private struct Mode: Decodable {
        let page: PageID
        let naive: Bool
    }

    @Sendable private func mode(
        _ request: Request, _ context: GalleryRequestContext
    ) async throws -> HTTPResponse.Status {
        let mode = try await request.decode(as: Mode.self, context: context)
        try await pages.session(mode.page).setNaive(mode.naive)
        return .noContent
    }

    private struct Change: Decodable {
        enum Action: String, Decodable { case pause, resume, cancelAll, width }

        let page: PageID
        let queue: String
        let action: Action
        let width: Int?
    }

    @Sendable private func change(
        _ request: Request, _ context: GalleryRequestContext
    ) async throws -> HTTPResponse.Status {
        let change = try await request.decode(as: Change.self, context: context)
        let action: PhotoListSession.EngineAction
        switch change.action {
        case .pause: action = .pause
        case .resume: action = .resume
        case .cancelAll: action = .cancelAll
        case .width:
            guard let width = change.width, Self.widths.contains(width) else {
                throw HTTPError(
                    .badRequest, message: "The width of a queue must be between 1 and 64.")
            }
            action = .width(width)
        }
        let session = try await pages.session(change.page)
        guard await session.perform(action, onQueueNamed: change.queue) else {
            throw HTTPError(.badRequest, message: "The page has no queue with this name.")
        }
        return .noContent
    }

    // MARK: Reading

    @Sendable private func timeline(
        _ request: Request, _ context: GalleryRequestContext
    ) async throws -> Response {
        let timeline = try await pages.session(request.pageID()).timeline
        let text = try await queue.add("Write timeline") { timeline.chromeTrace() }.value
        return Response(
            status: .ok,
            headers: [
                .contentType: "application/json; charset=utf-8", .cacheControl: "no-store",
                .contentDisposition: "attachment; filename=\"classicphotos-timeline.json\"",
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
