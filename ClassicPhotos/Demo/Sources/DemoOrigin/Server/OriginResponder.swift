import Departures
import Hummingbird
import Landscapes
import NIOCore
import Synchronization

/// The context of a request: data that is not part of the request itself.
struct OriginRequestContext: ConnectedContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}

/// Selects the response to each request.
///
/// A client that disconnects cancels its request: the delay ends, and a picture for which no other
/// request waits is not rendered any more.
final class OriginResponder: Sendable {
    typealias Configuration = DemoOriginServer.Configuration

    let catalog: DemoCatalog
    private let configuration: Configuration
    private let renderer: PhotoRenderer
    private let counts = RequestCounts()
    /// The picture of the fault routes: small and fast to render.
    private let sample: Landscape
    private let sampleRenderer: PhotoRenderer

    init(_ configuration: Configuration, renderer: PhotoRenderer, sampleRenderer: PhotoRenderer) {
        self.configuration = configuration
        self.renderer = renderer
        self.sampleRenderer = sampleRenderer
        catalog = DemoCatalog(
            count: configuration.count, faults: configuration.faults,
            longestSide: configuration.longestSide)
        sample = Landscape(index: 2, longestSide: min(configuration.longestSide ?? 640, 640))
    }

    func requestCount(_ path: String) -> Int { counts[path] }

    func respond(
        to request: Request, _ context: OriginRequestContext
    ) async throws -> Response {
        try await context.whileConnected { try await self.respond(to: request) }
    }

    private func respond(to request: Request) async throws -> Response {
        let path = String(request.uri.path)
        counts.add(path)
        guard request.method == .get || request.method == .head else {
            return Answer.text(.methodNotAllowed, "This origin supports only GET and HEAD.\n")
        }
        if path == "/photos.plist" || path == "/photos.json" { return try list(path, request) }
        if let entry = catalog[path: path] { return try await photo(entry, request) }
        if let fault = DemoFault(path: path) { return try await answer(fault, request) }
        if path == "/" { return Answer.text(.ok, "See /photos.plist and /photos.json.\n") }
        return Answer.text(.notFound, "There is nothing at this address.\n")
    }

    private func list(_ path: String, _ request: Request) throws -> Response {
        let origin = "http://" + (request.head.authority ?? "127.0.0.1")
        if path == "/photos.json" {
            let text = try catalog.json(origin: origin)
            return Answer.file(ByteBuffer(string: text), type: "application/json")
        }
        let text = catalog.propertyList(origin: origin)
        return Answer.file(ByteBuffer(string: text), type: "application/x-plist")
    }

    private func photo(_ entry: DemoCatalog.Entry, _ request: Request) async throws -> Response {
        try await Task.sleep(for: configuration.delay(entry.id))
        switch entry.kind {
        case .good:
            return try await fresh(entry.picture, request, renderer)
        case .missing:
            return Answer.text(.notFound, "There is no photo with that name. Is it misspelt?\n")
        case .htmlPage:
            return Answer.file(ByteBuffer(bytes: BrokenFiles.htmlPage), type: "text/html")
        case .empty:
            return Answer.file(ByteBuffer())
        case .truncated:
            let file = try await renderer.file(entry.picture)
            return Answer.file(
                ByteBuffer(bytes: BrokenFiles.truncated(Array(file.readableBytesView))))
        case .randomBytes:
            return Answer.file(ByteBuffer(bytes: BrokenFiles.noise(seed: UInt64(entry.id))))
        case .hugeHeader:
            return Answer.file(ByteBuffer(bytes: BrokenFiles.hugeHeader))
        case .closedMidway:
            let file = try await renderer.file(entry.picture)
            return Answer.cut(file, after: file.readableBytes / 2)
        case .verySlow:
            let file = try await renderer.file(entry.picture)
            let drops = 50
            return Answer.drip(
                file, chunk: file.readableBytes / drops + 1,
                every: configuration.slowTransfer / drops)
        }
    }

    private func fresh(
        _ picture: Landscape, _ request: Request, _ renderer: PhotoRenderer
    ) async throws -> Response {
        let freshness = Freshness(picture)
        if freshness.isKnown(to: request.headers) { return freshness.notModified }
        return freshness.stamp(Answer.file(try await renderer.file(picture)))
    }

    private func answer(_ fault: DemoFault, _ request: Request) async throws -> Response {
        switch fault {
        case .none:
            return try await fresh(sample, request, sampleRenderer)
        case .redirects(let hops):
            guard hops > 0 else { return try await fresh(sample, request, sampleRenderer) }
            return Answer.redirect(to: DemoFault.redirects(hops - 1).path)
        case .redirectLoop:
            return Answer.redirect(to: fault.path)
        case .movedList:
            return Answer.redirect(to: DemoFault.list.path)
        case .list:
            return Answer.text(.ok, "../none.jpg\n")
        case .huge(let bytes):
            return Answer.zeros(bytes, declared: true)
        case .endless(let bytes):
            return Answer.zeros(bytes, declared: false)
        case .drip(let chunk, let milliseconds):
            return Answer.drip(
                try await sampleRenderer.file(sample), chunk: chunk,
                every: .milliseconds(milliseconds))
        case .closeEarly(let bytes):
            return Answer.cut(try await sampleRenderer.file(sample), after: bytes)
        case .flaky(let status, let failures, let wait, _):
            if counts[String(request.uri.path)] > failures {
                return try await fresh(sample, request, sampleRenderer)
            }
            var response = Answer.text(.init(code: status), "Not now. Try again later.\n")
            response.headers[.retryAfter] = String(wait)
            return response
        case .status(let code):
            return Answer.text(.init(code: code), "As requested: \(code).\n")
        case .htmlPage:
            return Answer.file(ByteBuffer(bytes: BrokenFiles.htmlPage), type: "text/html")
        case .empty:
            return Answer.file(ByteBuffer())
        case .truncated:
            let file = try await sampleRenderer.file(sample)
            return Answer.file(
                ByteBuffer(bytes: BrokenFiles.truncated(Array(file.readableBytesView))))
        case .randomBytes:
            return Answer.file(ByteBuffer(bytes: BrokenFiles.noise(seed: 1)))
        case .hugeHeader:
            return Answer.file(ByteBuffer(bytes: BrokenFiles.hugeHeader))
        case .neverAnswers:
            // Until the client disconnects or the server stops.
            while true { try await Task.sleep(for: .seconds(3600)) }
        }
    }
}

/// Counts the requests for each address, up to a number of addresses.
final class RequestCounts: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    subscript(path: String) -> Int { counts.withLock { $0[path] ?? 0 } }

    func add(_ path: String) {
        counts.withLock { counts in
            // Our tests never request ten thousand different addresses.
            guard counts[path] != nil || counts.count < 10_000 else { return }
            counts[path, default: 0] += 1
        }
    }
}
