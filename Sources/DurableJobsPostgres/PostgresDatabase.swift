#if DurableJobsPostgres
import CDurableJobsLibPQ
import OperationsRuntime
import DurableJobs
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A PostgreSQL database. Each connection is made when it is first needed: one for the workers'
/// transactions, one for heartbeats and notifications, and up to four for the calls of the program.
final class PostgresDatabase: JobDatabase {
    let description: String
    private let target: PostgresTarget
    private let program: PostgresPool
    private let worker: PostgresLink
    private let beats: PostgresLink
    private let listener: PostgresListener
    private let notifier: PostgresNotifier
    /// The statements with the names of the schema that has the tables: neither the role nor the
    /// transaction of a caller decides.
    let translations: TranslationCache
    /// Tells whether a connection of a program is to this database.
    let identity: PostgresIdentity

    /// - Parameters:
    ///   - schema: where the tables are, or are made; nil for the first schema of the search path
    ///     that has them, or else the first one.
    ///   - extension: whose tables are made, too.
    init(
        _ url: String, schema: String? = nil, extension: ExtensionSchema? = nil
    ) async throws {
        target = try PostgresTarget(url)
        description = target.description
        program = PostgresPool(target)
        worker = PostgresLink(target, label: "worker")
        beats = PostgresLink(target, label: "beats")
        listener = PostgresListener(beats)
        notifier = PostgresNotifier(beats)
        let (store, program) = (description, program)
        let (version, found, identity) = try await Self.opening(target) {
            try await program.transaction(PostgresBeginning()) { session in
                _ = try session.query(PostgresMigration.tableLock)
                if let schema { try Self.use(schema, session) }
                let version = try JobSchema.usableVersion(session, store: store)
                if version == 0 {
                    for statement in JobSchema.statements(from: 0) + PostgresFunctions.statements {
                        _ = try session.query(statement)
                    }
                }
                let isNewest = version == 0 || version >= JobSchema.version
                if isNewest { try JobSchema.prepare(`extension`, session, store: store) }
                let schema = try session.query(
                    """
                    SELECT n.nspname::TEXT FROM pg_class c JOIN pg_namespace n
                        ON n.oid = c.relnamespace
                    WHERE c.oid = to_regclass('durable_job_schema')
                    """
                ).first?.text(0)
                return (version, schema, try PostgresIdentity(session))
            }
        }
        if version > 0, version < JobSchema.version {
            try await Self.explaining(store) { [target] in
                try await PostgresMigration(target, schema: found).run()
                try await program.transaction(PostgresBeginning()) { session in
                    _ = try session.query(PostgresMigration.tableLock)
                    if let found { try Self.search(found, session) }
                    try JobSchema.prepare(`extension`, session, store: store)
                }
            }
        }
        self.identity = identity
        translations = TranslationCache(PostgresSession.dialect(schema: found))
    }

    /// The version of the tables; 0 if there are none. See ``init(_:schema:)`` for the schema.
    static func schemaVersion(_ url: String, schema: String?) async throws -> Int {
        let target = try PostgresTarget(url)
        let link = PostgresLink(target, label: "version")
        // The link's end closes the connection, too.
        let version = try await opening(target) {
            try await link.transaction(PostgresBeginning(begin: "BEGIN READ ONLY")) { session in
                if let schema { try search(schema, session) }
                return try JobSchema.version(session)
            }
        }
        await link.close()
        return version
    }

    /// Lets the rest of a transaction find and make tables in a schema, which is made if it does
    /// not exist.
    private static func use(_ schema: String, _ session: any SQLSession) throws {
        if try session.query(
            "SELECT 1 FROM pg_namespace WHERE nspname = ?", [.text(schema)]
        ).isEmpty {
            _ = try session.query("CREATE SCHEMA \(PostgresSession.quoted(schema))")
        }
        try search(schema, session)
    }

    private static func search(_ schema: String, _ session: any SQLSession) throws {
        _ = try session.query("SET LOCAL search_path TO \(PostgresSession.quoted(schema))")
    }

    /// Calls a function, and describes its failures for people.
    private static func explaining<Result>(
        _ store: String, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let error as PostgresFailure {
            throw Self.error(error, store)
        }
    }

    /// Calls a function that opens the store, and describes its failures for people.
    private static func opening<Result>(
        _ target: PostgresTarget, _ body: () async throws -> Result
    ) async throws -> Result {
        try await target.advising { try await explaining(target.description, body) }
    }

    static func error(_ failure: PostgresFailure, _ store: String) -> JobError {
        switch failure.code {
        case "42501":
            .unusableStore(
                store: store,
                reason: "\(failure). The tables of durable jobs belong to another role: connect as "
                    + "that role, or let it grant you the rights")
        case "53100":
            .unavailableStore(store: store, reason: "\(failure). The disk of the server is full")
        // A lock timeout, a statement timeout, or a deadlock that did not end.
        case "55P03", "57014", "40P01": .locked(store: store, reason: failure.description)
        case "22P05", "22021": unstorable(failure)
        case let code? where ["22", "23", "54"].contains(code.prefix(2)):
            .refused(store: store, reason: failure.description)
        // A wrong login, a missing database, schema or table, or a statement that the server does
        // not understand.
        case let code? where ["0A", "28", "3D", "3F", "42"].contains(code.prefix(2)):
            .unusableStore(store: store, reason: failure.description)
        // A connection that was lost, or a server that stops, or lacks memory.
        default: .unavailableStore(store: store, reason: failure.description)
        }
    }

    /// Reads which character of which text the server could not convert, as in: character with byte
    /// sequence 0xc4 0x8d in encoding "UTF8" has no equivalent in encoding "LATIN1".
    private static func unstorable(_ failure: PostgresFailure) -> JobError {
        let words = failure.description.split(separator: " ")
        let bytes = words.compactMap { word in
            word.hasPrefix("0x") ? UInt8(word.dropFirst(2), radix: 16) : nil
        }
        let encoding = words.last?.trimmingPrefix("\"").prefix { $0 != "\"" } ?? ""
        return .unstorableText(
            field: "a text", character: String(decoding: bytes, as: UTF8.self),
            encoding: String(encoding))
    }

    func transaction<Result: Sendable>(
        _ kind: TransactionKind, on lane: TransactionLane,
        _ body: @escaping @Sendable (any SQLSession) throws -> Result
    ) async throws -> Result {
        let beginning = Self.beginning(kind, lane)
        return try await Self.explaining(description) {
            switch lane {
            case .program: try await program.transaction(beginning, translations, body)
            case .worker: try await worker.transaction(beginning, translations, body)
            case .heartbeat: try await beats.transaction(beginning, translations, body)
            }
        }
    }

    /// A worker that stops, or that loses the network, in the middle of a transaction must not keep
    /// locks and old versions of rows for ever. Nor may an open transaction of the application stop
    /// it for ever.
    ///
    /// Joins go through the table of given values, and through an index: so rows are locked in the
    /// order of those values, and statistics of a queue that was empty a moment ago mislead nobody.
    /// The penalty of plans that remain sequential would have the server compile them.
    private static func beginning(
        _ kind: TransactionKind, _ lane: TransactionLane
    ) -> PostgresBeginning {
        let lockTimeout = lane == .program ? "10s" : "1s"
        // The role or the database may have switched it off. All other values wait for the disk of
        // this server at least.
        let durable = """
            CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' \
            ELSE current_setting('synchronous_commit') END
            """
        var parameters = [
            ("idle_in_transaction_session_timeout", "'10s'"),
            ("lock_timeout", "'\(lockTimeout)'"),
            ("synchronous_commit", kind == .durable ? durable : "'off'"),
        ]
        for name in ["enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"] {
            parameters.append((name, "'off'"))
        }
        // The server would plan each statement about arrays anew, for the number of their elements.
        // The plan is the same for any number, and to make it takes longer than to claim the jobs.
        if lane == .worker { parameters.append(("plan_cache_mode", "'force_generic_plan'")) }
        let calls = parameters.map { "set_config('\($0.0)', \($0.1), true)" }
        return PostgresBeginning(
            begin: kind == .reading ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : "BEGIN",
            settings: "SELECT \(calls.joined(separator: ", "))")
    }

    func watch(_ queue: String, _ changed: @escaping @Sendable () -> Void) -> any Sendable {
        listener.add(queue, changed)
    }

    func announce(_ queue: String) { notifier.announce(queue) }

    /// Programs of earlier versions take this for the name of a queue that they do not have.
    private static func pauses(of queue: String) -> String { "pauses of \(queue)" }

    func watchPauses(
        _ queue: String, _ changed: @escaping @Sendable () -> Void
    ) -> any Sendable {
        listener.add(Self.pauses(of: queue), changed)
    }

    func announcePauses(_ queue: String) {
        notifier.announce(Self.pauses(of: queue))
        notifier.announce(queue)
    }

    func close() async {
        for link in program.links + [worker, beats] { await link.close() }
    }
}

/// The connections for the calls of a program: as many as it uses at the same time, at most four.
/// So a call that waits for the lock of another transaction does not keep the next call waiting.
/// The connections after the first one are closed when they were not used for a minute.
final class PostgresPool: Sendable {
    let links: [PostgresLink]
    /// The number of transactions that use each link, or wait for it.
    private let uses: Locked<[Int]>
    private let idleTime: Duration

    init(_ target: PostgresTarget, count: Int = 4, idleTime: Duration = .seconds(60)) {
        self.idleTime = idleTime
        links = (0..<count).map { PostgresLink(target, label: "program \($0)") }
        uses = Locked(Array(repeating: 0, count: count))
    }

    /// Runs a transaction on the first of the connections that are used least.
    func transaction<Result: Sendable>(
        _ beginning: PostgresBeginning,
        _ translations: TranslationCache = PostgresSession.unqualified,
        _ body: @escaping @Sendable (any SQLSession) throws -> Result
    ) async throws -> Result {
        let index = uses.withLock { uses in
            let index = uses.indices.min { uses[$0] < uses[$1] } ?? 0
            uses[index] += 1
            return index
        }
        defer {
            uses.withLock { $0[index] -= 1 }
            if index > 0 { links[index].closeWhenIdle(for: idleTime) }
        }
        return try await links[index].transaction(beginning, translations, body)
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
