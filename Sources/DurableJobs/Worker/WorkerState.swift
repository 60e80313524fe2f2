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

    /// An attempt whose end is not committed.
    struct Ended: Sendable {
        let record: AttemptRecord
        let verdict: AttemptVerdict
        /// Whether a transaction with the end had no answer. The store may have committed the end.
        var mayBeCommitted = false
        /// How often the store has refused the end, reported alone.
        var refusals = 0

        init(record: AttemptRecord, verdict: AttemptVerdict) {
            (self.record, self.verdict) = (record, verdict)
        }
    }

    /// What the loop of transactions does next.
    enum Step: Sendable {
        case exchange(Exchange, [Ended])
        /// Hands back jobs that have not begun in time; see ``handBack(_:now:)``.
        case handBack([Running])
        /// Waits for an event, or until a time.
        case wait(until: Duration)
        case finish
    }

    /// The largest number of ends in one transaction.
    static let groupLimit = 200
    /// The most bytes of attachments in one transaction, except that the first attachment may have
    /// any number.
    static let groupBytes = 32 << 20
    /// How long an end waits for others: as long as its attempt took, within these limits. So a
    /// group has several ends, and a job's latency at most doubles.
    static let groupTimes = Duration.milliseconds(5)...Duration.milliseconds(50)
    /// How often a worker looks for jobs without an event.
    static let pollTime = Duration.seconds(1)

    /// How long a look at all jobs may take without a pause before the next one.
    static let quickLook = Duration.milliseconds(3)

    /// How long an end that meets the lock of another transaction is left alone.
    static let holdTime = Duration.seconds(5)

    /// How long a suspect waits for a worker that holds nothing, before a busy one makes room.
    static let suspectPatience = Duration.seconds(10)

    /// How often a worker that stops tries to report to a store that does not answer.
    static let lastTries = 5

    /// How many jobs can run at a time. Twice as many are claimed and not committed at most.
    let width: Int
    let queue: String
    let performed: [PerformedJob]
    /// The number of deaths from which on a job runs alone.
    let suspectDeaths: Int

    private(set) var worker: String
    private(set) var generation = 0
    private(set) var running: [JobID: Running] = [:]
    private(set) var isStopping = false
    private var ended: [Ended] = []
    /// Ends that wait for the locks of other transactions, and when they are tried again.
    private var held: [(end: Ended, until: Duration)] = []
    /// The largest number of ends in the next group. It is halved when the store refuses a group,
    /// until the end that is the cause is alone, and doubled after each commit.
    private var groupLimit = WorkerState.groupLimit
    /// When ``ended`` and ``published`` must be reported, if they are not empty.
    private var reportTime = Duration.zero
    private var published: [JobID] = []
    /// Whether a transaction had no answer, so that the worker may own jobs that it does not know.
    private var mustNameKnown = false
    private var notBefore = Duration.zero
    private var isGraceOver = false
    private var failuresInARow = 0
    private var pace = ClaimPace()
    private var unbegun = UnbegunJobs()
    /// Since when a job of the next claim could begin, if the store is expected to have one.
    private var slotFreeSince: Duration?
    /// Since when a job of the claim that is under way could begin.
    private var claimWantedSince = Duration.zero
    /// The types that the worker does not claim before a time, because their jobs did not begin
    /// although slots were free: they wait for something of this worker, such as a budget.
    private var stuckTypes: [String: Duration] = [:]

    // Where and when to look for jobs.
    private var from = ReadyPlace.start
    private var expectsMore = true
    private var needsFullLook = true
    private var fullLookAllowed = Duration.zero
    private var nextPoll = Duration.zero
    private var isFullLook = true
    /// Whether the next claim waits until the worker holds no job: it holds a suspect, or is about
    /// to claim one.
    private var isAlone = false
    /// Whether the last claim was one of a suspect. The next one is of other jobs, so that suspects
    /// do not keep all others waiting.
    private var hadSuspect = false
    /// Since when the queue has suspects for which this worker is to make room.
    private var suspectsSince: Duration?
    /// The first place of the last full look, unless it was recorded.
    private var head: ReadyPlace?

    init(
        worker: String, width: Int, queue: String, performed: [PerformedJob],
        suspectDeaths: Int = .max
    ) {
        (self.worker, self.width, self.suspectDeaths) = (worker, width, suspectDeaths)
        (self.queue, self.performed) = (queue, performed)
    }

    /// The jobs that are claimed and not committed.
    var outstanding: Int { running.count + ended.count + held.count }

    // MARK: The next step

    mutating func nextStep(now: Duration) -> Step {
        if isStopping, outstanding == 0, published.isEmpty { return .finish }
        let waiting = takeUnbegun(now: now)
        if !waiting.isEmpty { return .handBack(waiting) }
        tryHeldEnds(now: now)
        guard now >= notBefore else { return .wait(until: notBefore) }
        claimStuckTypes(now: now)
        if now >= nextPoll { needsFullLook = true }
        let hasReports = !(ended.isEmpty && published.isEmpty)
        let mustReport =
            hasReports
            && (running.isEmpty || now >= reportTime || nextGroup().isFull)
        let ahead = claimsAhead(now: now)
        let claimTime = claimCount(ahead) > 0 ? claimTime(ahead) : nil
        if mustReport || claimTime.map({ $0 <= now }) == true {
            return nextExchange(reports: mustReport || ahead > 0, ahead, now: now)
        }
        var until = hasReports ? reportTime : now + .seconds(3600)
        until = min(until, claimTime ?? until)
        until = held.reduce(until) { min($0, $1.until) }
        return .wait(until: min(until, unbegun.next ?? until, stuckTypes.values.min() ?? until))
    }

    // MARK: The next claim

    /// How many jobs a claim would take at this moment.
    private func claimCount(_ ahead: Int) -> Int {
        guard !isStopping, !isMakingRoom, !claimedTypes.isEmpty else { return 0 }
        return max(0, min(width + ahead - running.count, 2 * width - outstanding))
    }

    /// When the next claim is due, unless a report comes first; nil if it goes with the report.
    private func claimTime(_ ahead: Int) -> Duration? {
        // While many jobs that were claimed ahead are left, they begin.
        if ahead > 0, outstanding > width { return nil }
        guard expectsMore else { return needsFullLook ? fullLookAllowed : nextPoll }
        return ahead > 0 ? .zero : slotFreeSince.map { $0 + pace.slotWait } ?? .zero
    }

    /// The number of jobs that the worker claims beyond those that can begin: one for each slot
    /// whose present body is short, while bodies are shorter than the round trip of a claim.
    private func claimsAhead(now: Duration) -> Int {
        guard expectsMore, pace.claimsAhead, let roundTrip = pace.roundTrip else { return 0 }
        let long = running.values.count { running in
            running.record.begunAt.map { now - $0 > roundTrip } ?? false
        }
        return max(0, width - long)
    }

    private var claimedTypes: [PerformedJob] {
        stuckTypes.isEmpty ? performed : performed.filter { stuckTypes[$0.name] == nil }
    }

    private mutating func claimStuckTypes(now: Duration) {
        guard stuckTypes.values.contains(where: { $0 <= now }) else { return }
        stuckTypes = stuckTypes.filter { $0.value > now }
        needsFullLook = true
    }

    // MARK: Reports

    private mutating func tryHeldEnds(now: Duration) {
        let due = held.filter { $0.until <= now }
        guard !due.isEmpty else { return }
        scheduleReport(by: now)
        held.removeAll { $0.until <= now }
        ended += due.map(\.end)
    }

    /// The number of ends that the next transaction reports, and whether it has no room for others.
    private func nextGroup() -> (count: Int, isFull: Bool) {
        var bytes = 0
        for (index, end) in ended.enumerated() {
            bytes += end.verdict.attachment?.count ?? 0
            if index == groupLimit || (index > 0 && bytes > Self.groupBytes) {
                return (index, true)
            }
        }
        return (ended.count, ended.count == groupLimit || bytes >= Self.groupBytes)
    }

    /// Whether the worker claims nothing until it holds nothing.
    private var isMakingRoom: Bool { isAlone && outstanding > 0 }

    /// - Parameter reports: whether the transaction has the ends of attempts, and is therefore
    ///   synced to the disk.
    private mutating func nextExchange(reports: Bool, _ ahead: Int, now: Duration) -> Step {
        var exchange = Exchange(worker: worker, queue: queue)
        var group: [Ended] = []
        if reports {
            group = Array(ended.prefix(nextGroup().count))
            ended.removeFirst(group.count)
            exchange.ended = group.map { EndedAttempt($0.record.job.token, $0.verdict) }
            exchange.published = published
            published = []
        }
        // The ends of this transaction make room for its claim.
        let count = claimCount(ahead)
        let isLookDue = needsFullLook && now >= fullLookAllowed
        if count > 0, expectsMore || isLookDue {
            (claimWantedSince, slotFreeSince) = (slotFreeSince ?? now, nil)
            exchange.wanted = count
            exchange.suspectDeaths = suspectDeaths
            exchange.mayClaimSuspect = suspectDeaths < .max && outstanding == 0 && !hadSuspect
            exchange.performed = claimedTypes
            isFullLook = isLookDue
            if isFullLook {
                from = .start
                needsFullLook = false
            }
            exchange.from = from
        }
        if mustNameKnown {
            exchange.known =
                running.values.map(\.record.job.token)
                + (ended + held.map(\.end)).map(\.record.job.token)
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
        groupLimit = min(Self.groupLimit, groupLimit * 2)
        if exchange.known != nil { mustNameKnown = false }
        if answer.freedKey { needsFullLook = true }
        guard exchange.wanted > 0 else { return answer.claimed }
        pace.claimAnswered(after: now - claimWantedSince)
        from = answer.end ?? .start
        expectsMore = answer.isFull
        if !answer.isFull {
            pace.restart()
            slotFreeSince = nil
        }
        hadSuspect = answer.isSuspect
        if answer.hasSuspects {
            suspectsSince = suspectsSince ?? now
        } else if isFullLook, !answer.isSuspect {
            suspectsSince = nil
        }
        let isPatienceOver = suspectsSince.map { now - $0 >= Self.suspectPatience } ?? false
        isAlone = answer.isSuspect || (answer.hasSuspects && isPatienceOver)
        // A suspect that a worker without jobs has not got may have a key that is not free.
        if answer.isSuspect || (isAlone && !exchange.mayClaimSuspect) {
            (needsFullLook, expectsMore) = (true, true)
        }
        if isFullLook {
            head = answer.claimed.first?.place ?? head
            // A slow look, over many rows that PostgreSQL must keep, is not repeated at once.
            let excess = max(.zero, answer.lookTime - Self.quickLook)
            fullLookAllowed = now + min(Self.pollTime, excess * 20)
            nextPoll = now + Self.pollTime
        }
        if let due = answer.nextDue { nextPoll = min(nextPoll, now + due) }
        return answer.claimed
    }

    /// A transaction has ended without an answer. Its ends are reported again, after a pause.
    mutating func exchangeFailed(_ exchange: Exchange, _ group: [Ended], now: Duration) {
        guard exchange.worker == worker else { return }
        var uncertain = group
        for index in uncertain.indices { uncertain[index].mayBeCommitted = true }
        ended = uncertain + ended
        published = exchange.published + published
        mustNameKnown = true
        expectsMore = true
        failuresInARow += 1
        if isGraceOver, failuresInARow >= Self.lastTries {
            // The store does not answer. Other workers take the jobs when the lease has ended.
            (ended, published) = ([], [])
        }
        notBefore = now + min(.seconds(1), .milliseconds(10) * (1 << min(failuresInARow, 7)))
    }

    /// The store has refused a transaction, and has changed nothing. Its ends are reported again,
    /// in smaller groups.
    mutating func exchangeRefused(
        _ exchange: Exchange, _ group: [Ended], _ refusal: StoreRefusal, now: Duration
    ) {
        guard exchange.worker == worker else { return }
        if exchange.wanted > 0 { expectsMore = true }
        guard group.count <= 1 else {
            groupLimit = max(1, group.count / 2)
            ended = group + ended
            published = exchange.published + published
            return
        }
        // The sweep finds files that are not marked as published.
        guard var end = group.first else {
            if exchange.published.isEmpty { notBefore = now + .seconds(1) }
            return
        }
        published = exchange.published + published
        if case .value = refusal {
            end.refusals += 1
            end = end.storable
        }
        // A worker that stops leaves the job to others.
        guard !isGraceOver else { return }
        if refusal == .locked || end.refusals > 2 {
            held.append((end, now + Self.holdTime))
        } else {
            groupLimit = 1
            ended.insert(end, at: 0)
        }
    }

    /// Returns the head of the ready order, if it has changed since the last call.
    mutating func takeHead() -> ReadyPlace? { head.take() }

    /// Files have their final names.
    mutating func filesPublished(_ jobs: Set<JobID>, now: Duration) {
        guard !jobs.isEmpty else { return }
        scheduleReport(by: now + Self.groupTimes.upperBound)
        published += jobs
    }

    /// The store may have new jobs.
    mutating func jobsAdded() { needsFullLook = true }

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
            ended.append(Ended(record: record, verdict: .notBegun))
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
        let returned = waiting.filter { waiting in
            let job = waiting.record.job.token.job
            return running[job]?.record === waiting.record && waiting.record.returnUnbegun()
        }
        guard !returned.isEmpty else { return [] }
        scheduleReport(by: now)
        for waiting in returned {
            running[waiting.record.job.token.job] = nil
            ended.append(Ended(record: waiting.record, verdict: .notBegun))
        }
        pace.jobWasHandedBack()
        if running.values.count(where: \.record.hasBegun) < width {
            // No slot is what they wait for. Jobs of other types come first for a while.
            for waiting in returned { stuckTypes[waiting.record.job.name] = now + Self.pollTime }
        }
        return returned
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
        if stuckTypes.removeValue(forKey: record.job.name) != nil { needsFullLook = true }
        let mustReport = add(record, verdict, now: now)
        let mayClaim = slotBecameFree(now: now)
        return mustReport || mayClaim
    }

    /// - Returns: whether a claim for the slot is due before the next report.
    private mutating func slotBecameFree(now: Duration) -> Bool {
        guard expectsMore, slotFreeSince == nil, running.count < width else { return false }
        slotFreeSince = now
        return !pace.claimsAhead
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
        let limits = Self.groupTimes
        let duration = record.begunAt.map { now - $0 } ?? .zero
        let isEarlier = scheduleReport(
            by: now + min(max(duration, limits.lowerBound), limits.upperBound))
        ended.append(Ended(record: record, verdict: verdict))
        return isEarlier || running.isEmpty || ended.count == groupLimit
            || (verdict.attachment != nil && nextGroup().isFull)
    }

    /// Notes the time of a report that is about to be added; returns whether it is earlier than
    /// that of all others.
    @discardableResult
    private mutating func scheduleReport(by time: Duration) -> Bool {
        guard (ended.isEmpty && published.isEmpty) || time < reportTime else { return false }
        reportTime = time
        return true
    }

    // MARK: Leases and stopping

    /// The lease is lost, or was never there: a new incarnation begins.
    ///
    /// The files of an end that may be committed stay: if it is, another worker publishes them.
    ///
    /// - Returns: the operations to cancel, the records whose files are to be deleted, and the
    ///   attempts that the new incarnation hands back.
    mutating func leaseLost(
        newWorker: String
    ) -> (cancel: [Running], dropped: [AttemptRecord], held: [AttemptToken]) {
        let uncommitted = (ended + held.map(\.end)).filter { !$0.mayBeCommitted || Faults.forget }
        let records = running.values.map(\.record) + (ended + held.map(\.end)).map(\.record)
        let result = (
            Array(running.values), uncommitted.map(\.record), records.map(\.job.token)
        )
        generation += 1
        worker = newWorker
        running = [:]
        (ended, held) = ([], [])
        published = []
        (mustNameKnown, expectsMore, needsFullLook) = (false, true, true)
        (isAlone, hadSuspect, suspectsSince) = (false, false, nil)
        (unbegun, slotFreeSince, stuckTypes) = (UnbegunJobs(), nil, [:])
        (fullLookAllowed, nextPoll, notBefore) = (.zero, .zero, .zero)
        return result
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
            ended.append(Ended(record: running.record, verdict: hasBegun ? .handedBack : .notBegun))
        }
        return rest
    }
}
/// Why a store has refused a transaction that another one of the same worker may pass.
enum StoreRefusal: Sendable {
    /// A row or a key is locked by another transaction.
    case locked
    /// A value cannot be stored.
    case value

    /// - Returns: nil for any other error.
    init?(_ error: any Error) {
        switch error as? JobError {
        case .locked: self = .locked
        case .refused, .unstorableText: self = .value
        default: return nil
        }
    }
}

extension WorkerState.Ended {
    /// The same end in a form that any store can hold: first with a reason in ASCII, and then
    /// without the result.
    fileprivate var storable: WorkerState.Ended {
        var end = WorkerState.Ended(record: record, verdict: verdict.inASCII)
        end.refusals = refusals
        guard refusals > 1 else { return end }
        let reason = "the store refuses the end of its attempt"
        let verdict =
            switch end.verdict {
            case .completed: AttemptVerdict.discarded(error: "\(reason), with its result")
            case .retry(_, let wait): AttemptVerdict.retry(error: reason, after: wait)
            case .postponed(_, let wait): AttemptVerdict.postponed(reason: reason, for: wait)
            case .discarded: AttemptVerdict.discarded(error: reason)
            case .cancelled: AttemptVerdict.cancelled(reason: reason)
            case .handedBack, .notBegun: end.verdict
            }
        end = WorkerState.Ended(record: record, verdict: verdict)
        end.refusals = refusals
        return end
    }
}

extension AttemptVerdict {
    /// The verdict with escapes in place of all characters of its reason that are not in ASCII.
    fileprivate var inASCII: AttemptVerdict {
        switch self {
        case .completed, .handedBack, .notBegun: self
        case .retry(let error, let wait): .retry(error: error.inASCII, after: wait)
        case .postponed(let reason, let wait): .postponed(reason: reason.inASCII, for: wait)
        case .discarded(let error): .discarded(error: error.inASCII)
        case .cancelled(let reason): .cancelled(reason: reason.inASCII)
        }
    }
}

extension String {
    fileprivate var inASCII: String {
        unicodeScalars.map { $0.isASCII ? String($0) : $0.escaped(asASCII: true) }.joined()
    }
}
#endif
