#if PhotoPipeline
import Operations
import Synchronization

/// The connections that wait for another request to the same origin.
///
/// A server closes a connection that is not used for some time, and so does this pool.
final class WebConnections: Sendable {
    /// What a connection may be used for. A connection to an allowed host, whose address nobody has
    /// checked, is never used for a request whose address must be checked.
    private struct Use: Hashable {
        let scheme: String
        let origin: String
        let checksAddress: Bool

        init(_ request: WebRequest) {
            (scheme, origin) = (request.url.scheme, request.url.origin)
            checksAddress = request.checksAddress
        }
    }

    private struct Idle {
        let use: Use
        let connection: WebConnection
        let since: ContinuousClock.Instant
    }

    private struct State {
        /// The latest one is the last.
        var idle: [Idle] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let expiry = OperationQueue(name: "Idle connections")

    private static let idleTime: Duration = .seconds(60)
    private static let idleLimit = 64

    /// Calls a function that blocks with a connection for a request. Keeps the connection unless
    /// the function throws or the task is cancelled, which cancels the connection.
    func withConnection<Result: Sendable>(
        for request: WebRequest, _ body: @escaping @Sendable (WebConnection) throws -> Result
    ) async throws -> Result {
        let use = Use(request)
        let connection = try take(use)
        let result = try await withTaskCancellationHandler {
            try await blocking { try body(connection) }
        } onCancel: {
            connection.cancel()
        }
        if !connection.isCancelled { put(connection, for: use) }
        return result
    }

    /// Closes all connections that nobody uses, now and later.
    func close() {
        let closed = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        _ = closed  // closed here, outside the lock
        expiry.cancelAllOperations()
    }

    private func take(_ use: Use) throws -> WebConnection {
        let found = state.withLock { state in
            state.idle.lastIndex { $0.use == use }.map { state.idle.remove(at: $0) }
        }
        return try found?.connection ?? WebConnection()
    }

    private func put(_ connection: WebConnection, for use: Use) {
        let idle = Idle(use: use, connection: connection, since: .now)
        let isClosed = state.withLock { state in
            if !state.isClosed { state.idle.append(idle) }
            return state.isClosed
        }
        if isClosed { return }
        closeOld()
        // When nothing has been put back for that long, nothing is left.
        expiry.add(.debounced(by: "old", Self.idleTime + .seconds(1))) { [weak self] in
            self?.closeOld()
        }
    }

    /// Closes the connections that have been idle for long, and the oldest of too many.
    private func closeOld() {
        let limit = ContinuousClock.now - Self.idleTime
        let closed = state.withLock { state -> [Idle] in
            let old = state.idle.prefix { $0.since < limit }.count
            let count = max(old, state.idle.count - Self.idleLimit)
            defer { state.idle.removeFirst(count) }
            return Array(state.idle.prefix(count))
        }
        _ = closed  // closed here, outside the lock
    }
}
#endif
