#if PhotoPipeline
import Operations
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// Looks up the addresses of hosts through the system.
struct HostLookup: Sendable {
    /// A lookup blocks its thread, for many seconds if a name server does not respond. The width of
    /// the queue is the number of unanswered lookups after which further lookups wait.
    private let queue = OperationQueue()

    init() {
        queue.name = "Host lookup"
        queue.maxConcurrentOperationCount = 16
    }

    /// Returns the addresses of a name, or the address that the text spells in any notation
    /// (`127.1`); empty if the host does not exist.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled. The lookup continues in the
    ///   background, and its result is discarded.
    func callAsFunction(_ host: String) async throws -> [NetworkAddress] {
        let result = PendingResult()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                result.wait(with: continuation)
                queue.addOperation {
                    guard !result.isResolved else { return }
                    result.resolve(.success(Self.addresses(of: host)))
                }
            }
        } onCancel: {
            result.resolve(.failure(CancellationError()))
        }
    }

    /// Keeps the first result, which may arrive before or after the task begins to wait.
    private final class PendingResult: Sendable {
        typealias Continuation = CheckedContinuation<[NetworkAddress], any Error>
        typealias Outcome = Result<[NetworkAddress], any Error>

        private let state = Mutex<(outcome: Outcome?, continuation: Continuation?)>((nil, nil))

        var isResolved: Bool { state.withLock { $0.outcome != nil } }

        func wait(with continuation: Continuation) {
            let outcome = state.withLock { state -> Outcome? in
                if state.outcome == nil { state.continuation = continuation }
                return state.outcome
            }
            if let outcome { continuation.resume(with: outcome) }
        }

        func resolve(_ outcome: Outcome) {
            let continuation = state.withLock { state -> Continuation? in
                guard state.outcome == nil else { return nil }
                state.outcome = outcome
                defer { state.continuation = nil }
                return state.continuation
            }
            continuation?.resume(with: outcome)
        }
    }

    private static func addresses(of host: String) -> [NetworkAddress] {
        var hints = addrinfo()
        #if canImport(Glibc)
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var addresses: [NetworkAddress] = []
        var next = list
        while let entry = next {
            if let address = entry.pointee.ai_addr.flatMap({ NetworkAddress(UnsafePointer($0)) }) {
                addresses.append(address)
            }
            next = entry.pointee.ai_next
        }
        return addresses
    }
}
#endif
