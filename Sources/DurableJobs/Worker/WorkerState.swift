#if DurableJobs
import Operations

/// What a worker holds and does next. Pure: the time comes in as an argument. The protocol is in
/// Protocol.md.
struct WorkerState: Sendable {
    /// A claimed job whose operation has not ended.
    struct Running: Sendable {
        let record: AttemptRecord
        let operation: Operations.Operation
    }

    /// What the loop of transactions does next.
    enum Step: Sendable {
        case exchange(Exchange, [Reports.Ended])
        /// Hands back jobs that have not begun in time; see ``handBack(_:now:)``.
        case handBack([Running])
        /// Waits for an event, or until a time.
        case wait(until: Duration)
        case finish
    }

    /// How often a worker that stops tries to report to a store that does not answer.
    static let lastTries = 5

    /// How many jobs can run at a time. Twice as many are claimed and not committed at most.
    let width: Int
    let queue: String

    private(set) var worker: String
    private(set) var generation = 0
    private(set) var running: [JobID: Running] = [:]
    private(set) var isStopping = false
    private(set) var isGraceOver = false
    /// What the worker knows to be paused.
    private(set) var pauses = Pauses()
    /// Whether the store has other pauses. The worker claims nothing until it knows them.
    private var mustLearnPauses = false
    /// Whether a transaction had no answer, so that the worker may own jobs that it does not know.
    private var mustNameKnown = false
    private var notBefore = Duration.zero
    private var failuresInARow = 0

    private var reports = Reports()
    private var looks: Looks
    private var suspects: Suspects
    private var pace = ClaimPace()
    private var unbegun = UnbegunJobs()

    init(
        worker: String, width: Int, queue: String, performed: [PerformedJob],
        suspectDeaths: Int = .max
    ) {
        (self.worker, self.width, self.queue) = (worker, width, queue)
        (looks, suspects) = (Looks(performed), Suspects(deaths: suspectDeaths))
    }

    /// The jobs that are claimed and not committed.
    var outstanding: Int { running.count + reports.count }

    // MARK: The next step

    mutating func nextStep(now: Duration) -> Step {
        if isStopping, outstanding == 0, !reports.hasPublished { return .finish }
        let waiting = takeUnbegun(now: now)
        if !waiting.isEmpty { return .handBack(waiting) }
        reports.timePassed(now: now)
        guard now >= notBefore else { return .wait(until: notBefore) }
        looks.timePassed(now: now)
        let mustReport = reports.isDue(now: now, isLast: running.isEmpty)
        let ahead = claimsAhead(now: now)
        let claimTime = claimCount(ahead) > 0 ? claimTime(ahead) : nil
        if mustReport || claimTime.map({ $0 <= now }) == true {
            return nextExchange(reports: mustReport || ahead > 0, ahead, now: now)
        }
        let times = [reports.next, claimTime, unbegun.next, looks.nextType].compactMap { $0 }
        return .wait(until: times.min() ?? now + .seconds(3600))
    }

    /// How many jobs a claim would take at this moment.
    private func claimCount(_ ahead: Int) -> Int {
        guard !isStopping, !suspects.isMakingRoom(holding: outstanding), !mustLearnPauses,
            !pauses.unpaused(looks.types).isEmpty
        else { return 0 }
        return max(0, min(width + ahead - running.count, 2 * width - outstanding))
    }

    /// When the next claim is due, unless a report comes first; nil if it goes with the report.
    private func claimTime(_ ahead: Int) -> Duration? {
        // While many jobs that were claimed ahead are left, they begin.
        if ahead > 0, outstanding > width { return nil }
        guard looks.expectsMore else { return looks.next }
        return ahead > 0 ? .zero : pace.claimTime
    }

    /// The number of jobs that the worker claims beyond those that can begin: one for each slot
    /// whose present body is short, while bodies are shorter than the round trip of a claim.
    private func claimsAhead(now: Duration) -> Int {
        guard looks.expectsMore, pace.claimsAhead, let roundTrip = pace.roundTrip else { return 0 }
        let long = running.values.count { running in
            running.record.begunAt.map { now - $0 > roundTrip } ?? false
        }
        return max(0, width - long)
    }

    /// - Parameter hasReports: whether the transaction has the ends of attempts, and is therefore
    ///   synced to the disk.
    private mutating func nextExchange(
        reports hasReports: Bool, _ ahead: Int, now: Duration
    ) -> Step {
        var exchange = Exchange(worker: worker, queue: queue)
        exchange.pauses = pauses.revision
        let group = hasReports ? reports.take(into: &exchange) : []
        // The ends of this transaction make room for its claim.
        let count = claimCount(ahead)
        if count > 0, looks.isDue(now: now) {
            pace.claimBegan(now: now)
            exchange.wanted = count
            exchange.suspectDeaths = suspects.deaths
            exchange.mayClaimSuspect = suspects.mayClaim(holding: outstanding)
            exchange.performed = pauses.unpaused(looks.types)
            exchange.from = looks.begin(now: now)
        }
        if mustNameKnown {
            exchange.known =
                running.values.map(\.record.job.token) + reports.all.map(\.record.job.token)
        }
        return .exchange(exchange, group)
    }

    // MARK: Events of transactions

    /// A transaction has ended with an answer.
    ///
    /// - Returns: the jobs to start. They are registered with ``started(_:_:)``.
    mutating func exchanged(
        _ exchange: Exchange, _ answer: ExchangeAnswer, now: Duration
    ) -> [ClaimedJob] {
        guard exchange.worker == worker else { return [] }
        failuresInARow = 0
        reports.committed()
        if exchange.known != nil { mustNameKnown = false }
        if answer.freedKey { looks.jobsAdded() }
        guard exchange.wanted > 0 else { return answer.claimed }
        if answer.havePausesChanged {
            mustLearnPauses = exchange.pauses == pauses.revision
            looks.lookAgain()
            return answer.claimed
        }
        pace.claimAnswered(now: now)
        if !answer.isFull { pace.restart() }
        looks.answered(answer, now: now)
        let mustLookAgain = suspects.answered(
            answer, isFullLook: looks.isFullLook, mayClaim: exchange.mayClaimSuspect, now: now)
        if mustLookAgain { looks.lookAgain() }
        return answer.claimed
    }

    /// A transaction has ended without an answer. Its ends are reported again, after a pause.
    mutating func exchangeFailed(_ exchange: Exchange, _ group: [Reports.Ended], now: Duration) {
        guard exchange.worker == worker else { return }
        reports.unanswered(exchange, group)
        mustNameKnown = true
        looks.failed()
        failuresInARow += 1
        // The store does not answer.
        if isGraceOver, failuresInARow >= Self.lastTries { reports.giveUp() }
        notBefore = now + min(.seconds(1), .milliseconds(10) * (1 << min(failuresInARow, 7)))
    }

    /// The store has refused a transaction, and has changed nothing. Its ends are reported again.
    mutating func exchangeRefused(
        _ exchange: Exchange, _ group: [Reports.Ended], _ refusal: StoreRefusal, now: Duration
    ) {
        guard exchange.worker == worker else { return }
        if exchange.wanted > 0 { looks.failed() }
        if group.isEmpty, exchange.published.isEmpty { notBefore = now + .seconds(1) }
        // A worker that stops leaves the job to others.
        reports.refused(exchange, group, refusal, givesUp: isGraceOver, now: now)
    }

    /// Returns the head of the ready order, if it has changed since the last call.
    mutating func takeHead() -> ReadyPlace? { looks.takeHead() }

    /// Nothing is left to do for the ends of jobs: they can be published.
    mutating func endsPublished(_ jobs: Set<JobID>, now: Duration) {
        reports.add(published: jobs, now: now)
    }

    /// The store may have new jobs.
    mutating func jobsAdded() { looks.jobsAdded() }

    // MARK: Events of operations

    /// Gives up the attempts of jobs that the store has given to this worker again: the database
    /// has crashed, and has lost the earlier claims.
    ///
    /// - Returns: the operations to cancel.
    mutating func overtaken(by claimed: [ClaimedJob]) -> [Running] {
        claimed.compactMap { running.removeValue(forKey: $0.token.job) }
    }

    /// A claimed job has an operation that is about to be added to its queue.
    ///
    /// - Returns: false if the job must not start, because the worker stops or has lost its lease.
    mutating func started(
        _ record: AttemptRecord, _ operation: Operations.Operation, now: Duration
    ) -> Bool {
        guard record.generation == generation else { return false }
        guard !isStopping else {
            record.interrupt(.stopping)
            reports.handBack(record, .notBegun, now: nil)
            return false
        }
        guard !pauses.isPaused(record.job.name) else {
            if record.returnUnbegun() { reports.handBack(record, .notBegun, now: now) }
            return false
        }
        running[record.job.token.job] = Running(record: record, operation: operation)
        unbegun.add(record.job.token, now: now)
        return true
    }

    /// Returns the jobs that have not begun within their time. The caller either keeps each of them
    /// with ``keep(_:waiting:now:)``, or hands it back.
    private mutating func takeUnbegun(now: Duration) -> [Running] {
        let due = unbegun.takeDue(now: now)
        guard !isStopping else { return [] }
        return due.compactMap { token in
            guard let running = running[token.job], running.record.job.token == token,
                !running.record.hasBegun
            else { return nil }
            return running
        }
    }

    /// Keeps a job that has not begun, because its operation waits for a time of its own.
    mutating func keep(_ running: Running, waiting time: Duration, now: Duration) {
        unbegun.add(running.record.job.token, waiting: time, now: now)
    }

    /// Hands back jobs that have not begun, so that an idle worker takes them.
    ///
    /// - Returns: the operations to cancel: those of the jobs that have not begun meanwhile.
    mutating func handBack(_ waiting: [Running], now: Duration) -> [Running] {
        let returned = takeBack(waiting, now: now)
        guard !returned.isEmpty else { return [] }
        pace.jobWasHandedBack()
        if running.values.count(where: \.record.hasBegun) < width {
            // No slot is what they wait for. Jobs of other types come first for a while.
            for waiting in returned { looks.typeIsStuck(waiting.record.job.name, now: now) }
        }
        return returned
    }

    private mutating func takeBack(_ waiting: [Running], now: Duration) -> [Running] {
        let returned = waiting.filter { waiting in
            let job = waiting.record.job.token.job
            return running[job]?.record === waiting.record && waiting.record.returnUnbegun()
        }
        for waiting in returned {
            running[waiting.record.job.token.job] = nil
            reports.handBack(waiting.record, .notBegun, now: now)
        }
        return returned
    }

    /// The body of a job is about to begin.
    ///
    /// - Returns: false if it must not, because it is paused or was handed back.
    func begin(_ record: AttemptRecord, at time: Duration) -> Bool {
        !pauses.isPaused(record.job.name) && record.begin(at: time)
    }

    /// The worker has learned the pauses of its queue.
    ///
    /// - Returns: the operations to cancel: those of paused jobs that have not begun, which are
    ///   handed back.
    mutating func pausesChanged(_ pauses: Pauses, now: Duration) -> [Running] {
        self.pauses = pauses
        mustLearnPauses = false
        looks.lookAgain()
        return takeBack(
            running.values.filter { pauses.isPaused($0.record.job.name) }, now: now)
    }

    /// The operation of an attempt has ended.
    ///
    /// - Returns: whether the loop must look at once; nil if the attempt was given up before.
    mutating func operationEnded(
        _ record: AttemptRecord, _ verdict: AttemptVerdict, now: Duration
    ) -> Bool? {
        guard record.generation == generation,
            running[record.job.token.job]?.record === record
        else { return nil }
        running[record.job.token.job] = nil
        if let start = record.begunAt { pace.bodyEnded(after: now - start) }
        looks.jobEnded(ofType: record.job.name)
        let mustReport = add(record, verdict, now: now)
        guard looks.expectsMore, running.count < width else { return mustReport }
        // What was claimed ahead takes the slot, and the next claim goes with a report.
        let isFirst = pace.slotBecameFree(now: now) && !pace.claimsAhead
        return mustReport || isFirst
    }

    /// A claimed job cannot run.
    ///
    /// - Returns: as ``operationEnded(_:_:now:)``.
    mutating func rejected(
        _ record: AttemptRecord, _ verdict: AttemptVerdict, now: Duration
    ) -> Bool? {
        record.generation == generation ? add(record, verdict, now: now) : nil
    }

    private mutating func add(
        _ record: AttemptRecord, _ verdict: AttemptVerdict, now: Duration
    ) -> Bool {
        reports.add(record, verdict, now: now) || running.isEmpty
    }

    // MARK: Leases and stopping

    /// The lease is lost, or was never there: a new incarnation begins.
    ///
    /// What an end has left that may be committed stays: if it is, another worker publishes it.
    ///
    /// - Returns: the operations to cancel, the records of attempts that are certainly not
    ///   committed, and the jobs that the worker held.
    mutating func leaseLost(
        newWorker: String
    ) -> (cancel: [Running], dropped: [AttemptRecord], held: [JobID]) {
        let ended = reports.removeAll()
        let cancelled = Array(running.values)
        let uncommitted = ended.filter { !$0.mayBeCommitted || Faults.forget }
        let records = cancelled.map(\.record) + ended.map(\.record)
        generation += 1
        worker = newWorker
        running = [:]
        (unbegun, mustNameKnown, notBefore) = (UnbegunJobs(), false, .zero)
        looks.restart()
        suspects.restart()
        pace.restart()
        return (cancelled, uncommitted.map(\.record), records.map(\.job.token.job))
    }

    /// The worker stops.
    ///
    /// - Returns: the operations that have not begun, to cancel.
    mutating func stopRequested() -> [Running] {
        isStopping = true
        return running.values.filter { !$0.record.hasBegun }
    }

    /// The time to stop is over: what still runs is handed back.
    ///
    /// - Returns: the operations to cancel.
    mutating func graceEnded() -> [Running] {
        let rest = Array(running.values)
        running = [:]
        isGraceOver = true
        for running in rest {
            running.record.interrupt(.stopping)
            let hasBegun = !running.record.returnUnbegun()
            reports.handBack(running.record, hasBegun ? .handedBack : .notBegun, now: nil)
        }
        return rest
    }
}
#endif
