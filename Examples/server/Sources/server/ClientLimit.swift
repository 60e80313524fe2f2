import Hummingbird
import OperationsFoundation

/// Limits how many requests of one client the server begins in a second.
///
/// A request takes its turn as an operation that does nothing. Until then it waits in the queue,
/// where it takes no thread; after a second it is refused.
struct ClientLimit: RouterMiddleware {
    private let limit: RateLimit
    private let requests: OperationQueue

    init(_ limit: RateLimit, _ requests: OperationQueue) {
        (self.limit, self.requests) = (limit, requests)
    }

    func handle(
        _ request: Request, context: ClientContext,
        next: (Request, ClientContext) async throws -> Response
    ) async throws -> Response {
        try await turn(of: context.client)
        return try await next(request, context)
    }

    /// Waits for the turn of a request.
    func turn(of client: String) async throws {
        let turn = requests.tryAdd(
            "turn", .rate(limit, by: client), .deadline(in: .seconds(1)), capacity: 1_000
        ) {}
        guard let turn else { throw HTTPError(.serviceUnavailable) }
        do {
            try await turn.value
        } catch is OperationDeadlineExceeded {
            throw HTTPError(.tooManyRequests, headers: [.retryAfter: "1"])
        }
    }
}
