#if DurableJobs
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension JobStore {
    /// Commits the ends of attempts, and then claims jobs; one transaction, which a worker may
    /// repeat with the same ends.
    package func exchange(_ exchange: Exchange) async throws -> ExchangeAnswer {
        let kind: TransactionKind = exchange.ended.isEmpty ? .relaxed : .durable
        return try await database.transaction(kind, on: .worker) { session in
            var answer = ExchangeAnswer()
            try commit(exchange, &answer, session)
            try markPublished(exchange.published, session)
            guard let pauses = try pausesForWorker(exchange, session) else {
                answer.isLeaseLost = true
                return answer
            }
            if let known = exchange.known {
                try handBackUnknown(exchange.worker, known: Set(known), session)
            }
            answer.havePausesChanged = pauses != exchange.pauses
            if exchange.wanted > 0, !answer.havePausesChanged {
                try claim(exchange, &answer, session)
            }
            return answer
        }
    }

    /// Returns the revision of the queue's pauses; nil if the lease of the worker has ended.
    private func pausesForWorker(
        _ exchange: Exchange, _ session: any SQLSession
    ) throws -> Int64? {
        try session.query(
            "SELECT \(Self.pauseRevision) FROM durable_job_worker WHERE id = ? AND {alive}",
            [.text(exchange.queue), .text(exchange.worker)]
        ).first?.integer(0)
    }

    // MARK: Ends of attempts

    /// The condition that a job which is named by its number is running.
    ///
    /// Without the sum PostgreSQL looks for the job in the index of the worker's running jobs. That
    /// index has an entry for each earlier run as long as an old transaction keeps them.
    static let isRunning = "state + 0 = 3"

    /// The condition that fences attempts; tests break it.
    private static var guardingToken: String {
        if Faults.unguarded { return "1 = 1" }
        if Faults.running { return isRunning }
        return "claim = of_claim AND worker = of_worker AND \(isRunning)"
    }

    package static let report = TableStatement(
        [
            "job": .integer, "of_claim": .integer, "of_worker": .text, "new_state": .integer,
            "new_result": .bytes, "new_outputs": .text, "new_error": .text, "wait": .integer,
            "new_failures": .integer, "uncounted_attempt": .integer, "unbegun": .integer,
        ],
        """
        UPDATE durable_job SET
            state = CASE WHEN cancel_reason IS NOT NULL AND new_state <> 12 THEN 11
                ELSE new_state END,
            worker = CASE WHEN new_state = 2 THEN NULL ELSE worker END,
            result = new_result, outputs = new_outputs,
            unpublished = CASE WHEN cancel_reason IS NULL AND new_outputs IS NOT NULL THEN 1
                ELSE 0 END,
            error = CASE WHEN cancel_reason IS NULL OR new_state = 12 THEN new_error
                WHEN new_state = 4 THEN
                    cancel_reason || '; its last attempt ended with: ' || new_error
                ELSE cancel_reason END,
            run_at = {now} + wait, failures = failures + new_failures,
            attempt = attempt - uncounted_attempt, deaths = deaths * unbegun, ended_at = {now}
        FROM given WHERE id = job AND \(guardingToken)
        RETURNING id, state, has_dependents, exclusive_key IS NOT NULL, batch, is_upstream
        """)

    private func commit(
        _ exchange: Exchange, _ answer: inout ExchangeAnswer, _ session: any SQLSession
    ) throws {
        guard !exchange.ended.isEmpty else { return }
        let order = exchange.ended.indices.sorted {
            exchange.ended[$0].token.job < exchange.ended[$1].token.job
        }
        let rows = try session.query(
            Self.report, order.map { Self.arguments(of: exchange.ended[$0]) }
        ).byNumber
        answer.verdicts = Array(repeating: .fenced, count: exchange.ended.count)
        var ends: [(id: JobID, state: JobState, isUpstream: Bool)] = []
        var counts: [(Int64?, JobState)] = []
        var keys: [[SQLValue]] = []
        var additions: [(job: JobID, bytes: Data)] = []
        for index in order {
            let token = exchange.ended[index].token
            guard let row = rows[token.job.rawValue] else {
                answer.verdicts[index] = try earlierVerdict(token, session)
                continue
            }
            let state = row.state(1)
            answer.verdicts[index] = .accepted(state)
            if row.flag(3) { keys.append([row.values[0]]) }
            guard state.isEnded else { continue }
            counts.append((row.optionalInteger(4), state))
            if row.flag(2) { ends.append((token.job, state, row.flag(5))) }
            if state == .completed, let bytes = exchange.ended[index].verdict.addition?.bytes {
                additions.append((token.job, bytes))
            }
        }
        if !additions.isEmpty {
            try `extension`?.willCommit(additions, in: exchange.queue, session)
        }
        if !keys.isEmpty {
            try ExclusiveKeys.free(keys, session)
            answer.freedKey = true
        }
        answer.alsoEnded = try Resolving.resolve(ends, session)
        try BatchCounts.add(counts, worker: exchange.worker, session)
    }

    /// The verdict on a report that changes nothing: an earlier one with its token may have.
    private func earlierVerdict(
        _ token: AttemptToken, _ session: any SQLSession
    ) throws -> VerdictAnswer {
        if Faults.noRepeat { return .fenced }
        let values: [SQLValue] = [
            .integer(token.job.rawValue), .integer(token.claim), .text(token.worker),
        ]
        for table in ["durable_job", "durable_job_archive"] {
            let rows = try session.query(
                """
                SELECT state FROM \(table) WHERE id = ? AND claim = ? AND worker = ?
                    AND state <> 3
                """, values)
            if let row = rows.first { return .accepted(row.state(0)) }
        }
        return .fenced
    }

    private static func arguments(of ended: EndedAttempt) -> [SQLValue] {
        var verdict = ended.verdict
        // This changes nothing if the transaction of the program was committed.
        if case .completedByProgram(let otherwise) = verdict { verdict = otherwise }
        var state = JobState.completed
        var (result, outputs, error): (SQLValue, SQLValue, SQLValue) = (.null, .null, .null)
        var wait: Int64?
        var (failures, uncounted, unbegun): (Int64, Int64, Int64) = (0, 0, 0)
        switch verdict {
        case .completed(let data, let addition):
            (result, outputs) = (.bytes(data), SQLValue(addition?.outputs))
        case .retry(let reason, let duration):
            (state, error, wait) = (.retryable, .text(reason), duration.milliseconds)
            failures = 1
        case .postponed(let reason, let duration):
            (state, error, wait) = (.retryable, .text(reason), duration.milliseconds)
        case .snoozed(let reason, let duration):
            (state, error, wait) = (.retryable, .text(reason), duration.milliseconds)
            uncounted = 1
        case .discarded(let reason):
            (state, error) = (.discarded, .text(reason))
            failures = 1
        case .cancelled(let reason): (state, error) = (.cancelled, .text(reason))
        case .handedBack: state = .available
        case .notBegun: (state, uncounted, unbegun) = (.available, 1, 1)
        case .completedByProgram: fatalError("unreachable: the verdict otherwise is another one")
        }
        return [
            .integer(ended.token.job.rawValue), .integer(ended.token.claim),
            .text(ended.token.worker), .integer(Int64(state.rawValue)), result, outputs, error,
            SQLValue(wait), .integer(failures), .integer(uncounted), .integer(unbegun),
        ]
    }

    /// Hands back jobs that the store has given to the worker in a transaction whose answer was
    /// lost.
    private func handBackUnknown(
        _ worker: String, known: Set<AttemptToken>, _ session: any SQLSession
    ) throws {
        let rows = try session.query(
            "SELECT id, claim FROM durable_job WHERE worker = ? AND state = 3 ORDER BY id",
            [.text(worker)])
        let unknown = rows.filter {
            let token = AttemptToken(
                job: JobID($0.integer(0)), claim: $0.integer(1), worker: worker)
            return !known.contains(token)
        }.map { [$0.values[0]] }
        guard !unknown.isEmpty else { return }
        _ = try session.batch(
            "UPDATE durable_job SET state = 2, worker = NULL WHERE id = ? AND \(Self.isRunning)",
            unknown)
        try ExclusiveKeys.free(unknown, session)
    }

    // MARK: Claims

    private static let take = TableStatement(
        ["job": .integer, "new_worker": .text, "new_claim": .integer],
        """
        UPDATE durable_job SET state = 3, attempt = attempt + 1, worker = new_worker,
            claim = new_claim, started_at = {now}, run_at = NULL
        FROM given WHERE id = job AND state = 2
        RETURNING id, attempt, name, version, arguments, failures, retry_limit, backoff, timeout,
            deadline, started_at, enqueued_at, batch, trace
        """)

    private static let makeAvailable = TableStatement(
        ["job": .integer],
        "UPDATE durable_job SET state = 2 FROM given WHERE id = job AND state IN (1, 4)")

    private func claim(
        _ exchange: Exchange, _ answer: inout ExchangeAnswer, _ session: any SQLSession
    ) throws {
        let isFullLook = exchange.from == .start
        if isFullLook { try makeDueAvailable(exchange.queue, session) }
        let start = Machine.timeSinceBoot
        var picked: [SQLRow] = []
        if exchange.mayClaimSuspect {
            var suspect = exchange
            (suspect.wanted, suspect.from) = (1, .start)
            picked = try Choosing.choose(suspect, isSuspect: true, skipped, session)
            answer.isSuspect = !picked.isEmpty
        }
        if picked.isEmpty {
            picked = try Choosing.choose(exchange, isSuspect: false, skipped, session)
            if isFullLook { answer.hasSuspects = try hasSuspects(exchange, session) }
        }
        answer.lookTime = Machine.timeSinceBoot - start
        let last = answer.isSuspect ? nil : picked.last
        answer.end = last.map(ReadyPlace.init) ?? (isFullLook ? nil : exchange.from)
        let (free, hasFree) = try ExclusiveKeys.take(for: picked, exchange.queue, session)
        if hasFree { answer.freedKey = true }
        let rows = try session.query(
            Self.take,
            free.map { [$0.values[0], .text(exchange.worker), .integer(exchange.claim)] }
        ).byNumber
        for pick in free {
            guard let row = rows[pick.integer(0)] else { continue }
            answer.claimed.append(claimedJob(pick, row, exchange))
        }
        answer.isFull = picked.count >= exchange.wanted || answer.isSuspect
        if !answer.isFull {
            answer.nextDue = try nextDue(exchange.queue, session)
        }
    }

    /// Whether the worker is the first of those that perform a suspect of its queue.
    private func hasSuspects(_ exchange: Exchange, _ session: any SQLSession) throws -> Bool {
        guard exchange.suspectDeaths < .max else { return false }
        return try !session.query(
            """
            SELECT 1 FROM durable_job j
            WHERE queue = ? AND state = 2 AND deaths > 0 AND deaths >= ? AND parked = 0
                AND \(Self.isUnpaused) AND ? = (
                SELECT MIN(w.id) FROM durable_job_worker w
                JOIN durable_job_performed p ON p.worker = w.id
                WHERE w.queue = j.queue AND w.is_stopping = 0 AND {alive}
                    AND p.name = j.name AND p.version >= j.version)
            LIMIT 1
            """,
            [
                .text(exchange.queue), .integer(Int64(exchange.suspectDeaths)),
                .text(exchange.worker),
            ]
        ).isEmpty
    }

    private func claimedJob(_ pick: SQLRow, _ row: SQLRow, _ exchange: Exchange) -> ClaimedJob {
        ClaimedJob(
            token: AttemptToken(
                job: JobID(pick.integer(0)), claim: exchange.claim, worker: exchange.worker),
            attempt: Int(row.integer(1)), name: row.text(2) ?? "", version: Int(row.integer(3)),
            arguments: row.bytes(4) ?? Data(), place: ReadyPlace(pick),
            failures: Int(row.integer(5)), retryLimit: Int(row.integer(6)), backoff: row.text(7),
            timeout: row.optionalInteger(8).map { Duration(milliseconds: $0) },
            deadline: row.optionalInteger(9), claimedAt: row.integer(10),
            enqueuedAt: row.integer(11), isExclusive: pick.text(3) != nil,
            batch: row.optionalInteger(12), trace: row.text(13))
    }

    private func makeDueAvailable(_ queue: String, _ session: any SQLSession) throws {
        let due = try session.query(
            """
            SELECT id FROM durable_job WHERE queue = ? AND state IN (1, 4) AND run_at <= {now}
            ORDER BY run_at LIMIT 500 {skip_locked}
            """, [.text(queue)])
        guard !due.isEmpty else { return }
        _ = try session.query(
            Self.makeAvailable, due.map { $0.integer(0) }.sorted().map { [.integer($0)] })
    }

    private func nextDue(_ queue: String, _ session: any SQLSession) throws -> Duration? {
        try session.query(
            """
            SELECT run_at - {now} FROM durable_job WHERE queue = ? AND state IN (1, 4)
            ORDER BY run_at LIMIT 1
            """, [.text(queue)]
        ).first.map { Duration(milliseconds: max(0, $0.integer(0))) }
    }
}

extension [SQLRow] {
    /// The rows by their first column, the number of a job.
    var byNumber: [Int64: SQLRow] {
        Dictionary(map { ($0.integer(0), $0) }) { $1 }
    }
}
#endif
