#if DurableJobsPostgres
import CLibPQ
import DurableJobs
import FoundationEssentials
import Operations

/// A PostgreSQL database, by three connections: one for transactions, one for heartbeats and
/// notifications, and one that listens.
final class PostgresDatabase: JobDatabase {
    let description: String
    private let target: PostgresTarget
    private let main: PostgresLink
    private let beats: PostgresLink
    private let listener: PostgresListener
    private let notifier: PostgresNotifier

    init(_ url: String) async throws {
        target = try PostgresTarget(url)
        description = target.description
        main = PostgresLink(target, label: "main")
        beats = PostgresLink(target, label: "beats")
        listener = PostgresListener(target)
        notifier = PostgresNotifier(beats)
        let store = description
        try await explaining {
            try await main.transaction("BEGIN") { session in
                // Excludes other processes that make or migrate the tables.
                _ = try session.query("SELECT pg_advisory_xact_lock(7236837458)")
                try JobSchema.migrate(session, store: store)
            }
        }
    }

    /// Calls a function, and describes its failures for people.
    private func explaining<Result>(
        _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let error as PostgresFailure {
            throw JobError.unusableStore(store: description, reason: Self.reason(error))
        }
    }

    private static func reason(_ failure: PostgresFailure) -> String {
        switch failure.code {
        case "42501":
            "\(failure). The tables of durable jobs belong to another role: connect as that role, or "
                + "let it grant you the rights"
        case "53100": "\(failure). The disk of the server is full"
        default: failure.description
        }
    }

    /// A worker that stops, or that loses the network, in the middle of a transaction must not keep
    /// locks and old versions of rows for ever.
    private static let begin = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '10s'"
    private static let beginRelaxed = "\(begin); SET LOCAL synchronous_commit = off"

    func transaction<Result: Sendable>(
        _ kind: TransactionKind, _ body: @escaping @Sendable (any SQLSession) throws -> Result
    ) async throws -> Result {
        try await explaining {
            try await main.transaction(kind == .durable ? Self.begin : Self.beginRelaxed, body)
        }
    }

    func heartbeat<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLSession) throws -> Result
    ) async throws -> Result {
        try await explaining {
            try await beats.transaction(Self.beginRelaxed, body)
        }
    }

    func watch(_ queue: String, _ changed: @escaping @Sendable () -> Void) -> any Sendable {
        listener.add(queue, changed)
    }

    func announce(_ queue: String) { notifier.announce(queue) }

    func close() async {
        listener.end()
        await main.close()
        await beats.close()
    }
}

/// Sends at most one notification in 20 ms for each queue, because transactions that notify are
/// committed one after another.
final class PostgresNotifier: Sendable {
    static let channel = "durable_jobs"
    private static let period = Duration.milliseconds(20)

    private let link: PostgresLink
    /// When the next notification of each queue may be sent, if one was sent.
    private let next = Locked<[String: (time: ContinuousClock.Instant, isScheduled: Bool)]>([:])

    init(_ link: PostgresLink) { self.link = link }

    func announce(_ queue: String) {
        let now = ContinuousClock.now
        let wait = next.withLock { next -> Duration? in
            guard let entry = next[queue] else {
                next[queue] = (now, true)
                return .zero
            }
            // The scheduled notification also tells of this change.
            guard !entry.isScheduled else { return nil }
            next[queue] = (entry.time, true)
            return max(.zero, entry.time - now)
        }
        guard let wait else { return }
        link.soon(after: wait) { [self] connection in
            next.withLock { $0[queue] = (.now + Self.period, false) }
            guard let connection else { return }
            _ = try? PostgresSession(connection).query(
                "SELECT pg_notify(?, ?)", [.text(Self.channel), .text(queue)])
        }
    }
}
#endif
