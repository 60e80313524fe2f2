#if DurableJobs
import Operations

/// The ends of attempts that are not committed, and how they form transactions. Pure: the time
/// comes in as an argument.
struct Reports: Sendable {
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

    /// The largest number of ends in one transaction.
    static let groupLimit = 200
    /// The most bytes of additions in one transaction, except that the first addition may have any
    /// number.
    static let groupBytes = 32 << 20
    /// How long an end waits for others: as long as its attempt took, within these limits. So a
    /// group has several ends, and a job's latency at most doubles.
    static let groupTimes = Duration.milliseconds(5)...Duration.milliseconds(50)
    /// How long an end that meets the lock of another transaction is left alone.
    static let holdTime = Duration.seconds(5)

    private var ended: [Ended] = []
    /// Ends that wait for the locks of other transactions, and when they are tried again.
    private var held: [(end: Ended, until: Duration)] = []
    private var published: [JobID] = []
    /// The largest number of ends in the next group. It is halved when the store refuses a group,
    /// until the end that is the cause is alone, and doubled after each commit.
    private var groupLimit = Reports.groupLimit
    /// When ``ended`` and ``published`` must be reported, if they are not empty.
    private var time = Duration.zero

    /// The ends that are not committed, and are in no transaction.
    var count: Int { ended.count + held.count }
    /// Whether nothing could be reported now.
    var isEmpty: Bool { ended.isEmpty && published.isEmpty }
    var hasPublished: Bool { !published.isEmpty }
    var all: [Ended] { ended + held.map(\.end) }

    /// When the next report is due, if nothing else happens; nil if there is none.
    var next: Duration? {
        let first = isEmpty ? nil : time
        return held.reduce(first) { min($0 ?? $1.until, $1.until) }
    }

    /// - Parameter isLast: whether no further end is expected.
    func isDue(now: Duration, isLast: Bool) -> Bool {
        !isEmpty && (isLast || now >= time || nextGroup().isFull)
    }

    /// The number of ends that the next transaction reports, and whether it has no room for others.
    private func nextGroup() -> (count: Int, isFull: Bool) {
        var bytes = 0
        for (index, end) in ended.enumerated() {
            bytes += end.verdict.addition?.bytes?.count ?? 0
            if index == groupLimit || (index > 0 && bytes > Self.groupBytes) {
                return (index, true)
            }
        }
        return (ended.count, ended.count == groupLimit || bytes >= Self.groupBytes)
    }

    // MARK: What is to be reported

    /// An attempt has ended. Its end waits for others.
    ///
    /// - Returns: whether the next report is earlier than it was, or is due at once.
    mutating func add(_ record: AttemptRecord, _ verdict: AttemptVerdict, now: Duration) -> Bool {
        let limits = Self.groupTimes
        let duration = record.begunAt.map { now - $0 } ?? .zero
        let isEarlier = schedule(
            by: now + min(max(duration, limits.lowerBound), limits.upperBound))
        ended.append(Ended(record: record, verdict: verdict))
        return isEarlier || ended.count == groupLimit
            || (verdict.addition?.bytes != nil && nextGroup().isFull)
    }

    /// A job is handed back.
    ///
    /// - Parameter now: nil if the report does not become due because of it.
    mutating func handBack(_ record: AttemptRecord, _ verdict: AttemptVerdict, now: Duration?) {
        if let now { _ = schedule(by: now) }
        ended.append(Ended(record: record, verdict: verdict))
    }

    /// Ends of jobs can be published.
    mutating func add(published jobs: Set<JobID>, now: Duration) {
        guard !jobs.isEmpty else { return }
        _ = schedule(by: now + Self.groupTimes.upperBound)
        published += jobs
    }

    /// Notes the time of a report that is about to be added; returns whether it is earlier than
    /// that of all others.
    private mutating func schedule(by time: Duration) -> Bool {
        guard isEmpty || time < self.time else { return false }
        self.time = time
        return true
    }

    /// Ends that were left alone are tried again when their time has come.
    mutating func timePassed(now: Duration) {
        let due = held.filter { $0.until <= now }
        guard !due.isEmpty else { return }
        _ = schedule(by: now)
        held.removeAll { $0.until <= now }
        ended += due.map(\.end)
    }

    // MARK: Transactions

    /// Puts the next group into a transaction.
    mutating func take(into exchange: inout Exchange) -> [Ended] {
        let group = Array(ended.prefix(nextGroup().count))
        ended.removeFirst(group.count)
        exchange.ended = group.map { EndedAttempt($0.record.job.token, $0.verdict) }
        exchange.published = published
        published = []
        return group
    }

    mutating func committed() { groupLimit = min(Self.groupLimit, groupLimit * 2) }

    /// A transaction has ended without an answer. Its ends are reported again.
    mutating func unanswered(_ exchange: Exchange, _ group: [Ended]) {
        var uncertain = group
        for index in uncertain.indices { uncertain[index].mayBeCommitted = true }
        ended = uncertain + ended
        published = exchange.published + published
    }

    /// The store has refused a transaction, and has changed nothing. Its ends are reported again,
    /// in smaller groups.
    ///
    /// - Parameter givesUp: whether an end that was refused alone is left to other workers.
    mutating func refused(
        _ exchange: Exchange, _ group: [Ended], _ refusal: StoreRefusal, givesUp: Bool,
        now: Duration
    ) {
        // The sweep finds ends that are not published.
        guard var end = group.first else { return }
        published = exchange.published + published
        guard group.count == 1 else {
            groupLimit = max(1, group.count / 2)
            ended = group + ended
            return
        }
        if case .value = refusal {
            end.refusals += 1
            end = end.storable
        }
        guard !givesUp else { return }
        if refusal == .locked || end.refusals > 2 {
            held.append((end, now + Self.holdTime))
        } else {
            groupLimit = 1
            ended.insert(end, at: 0)
        }
    }

    /// Forgets what could be reported now. Other workers take the jobs when the lease has ended.
    mutating func giveUp() { (ended, published) = ([], []) }

    /// Forgets everything, and returns the ends.
    mutating func removeAll() -> [Ended] {
        defer { (ended, held, published) = ([], [], []) }
        return all
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

extension Reports.Ended {
    /// The same end in a form that any store can hold: first with a reason in ASCII, and then
    /// without the result.
    fileprivate var storable: Reports.Ended {
        var end = Reports.Ended(record: record, verdict: verdict.inASCII)
        end.refusals = refusals
        guard refusals > 1 else { return end }
        let reason = "the store refuses the end of its attempt"
        let verdict =
            switch end.verdict {
            case .completed: AttemptVerdict.discarded(error: "\(reason), with its result")
            case .retry(_, let wait): AttemptVerdict.retry(error: reason, after: wait)
            case .postponed(_, let wait): AttemptVerdict.postponed(reason: reason, for: wait)
            case .snoozed(_, let wait): AttemptVerdict.snoozed(reason: reason, for: wait)
            case .discarded: AttemptVerdict.discarded(error: reason)
            case .cancelled: AttemptVerdict.cancelled(reason: reason)
            case .completedByProgram, .handedBack, .notBegun: end.verdict
            }
        end = Reports.Ended(record: record, verdict: verdict)
        end.refusals = refusals
        return end
    }
}

extension AttemptVerdict {
    /// The verdict with escapes in place of all characters of its reason that are not in ASCII.
    fileprivate var inASCII: AttemptVerdict {
        switch self {
        case .completed, .completedByProgram, .handedBack, .notBegun: self
        case .retry(let error, let wait): .retry(error: error.inASCII, after: wait)
        case .postponed(let reason, let wait): .postponed(reason: reason.inASCII, for: wait)
        case .snoozed(let reason, let wait): .snoozed(reason: reason.inASCII, for: wait)
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
