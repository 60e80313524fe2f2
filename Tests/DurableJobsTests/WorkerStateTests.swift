#if DurableJobs
import Operations
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobs

/// The decisions of a worker, without threads and stores.
struct WorkerStateTests {
    private static func state(width: Int = 8) -> WorkerState {
        WorkerState(
            worker: "w", width: width, queue: "q",
            performed: [PerformedJob(name: "echo", version: 1)])
    }

    static func job(_ id: Int64, claim: Int64 = 1) -> ClaimedJob {
        ClaimedJob(
            token: AttemptToken(job: JobID(id), claim: claim, worker: "w"), attempt: 1,
            name: "echo", version: 1, arguments: Data(),
            place: ReadyPlace(rank: 0, position: id, id: id), failures: 0,
            retryLimit: 0, backoff: nil, timeout: nil, deadline: nil, claimedAt: 0, enqueuedAt: 0,
            isExclusive: false, batch: nil, trace: nil)
    }

    /// Performs the first claim, and starts its jobs.
    private static func begin(
        _ state: inout WorkerState, _ count: Int, isFull: Bool, now: Duration = .zero
    ) -> [AttemptRecord] {
        guard case .exchange(let exchange, _) = state.nextStep(now: now) else { return [] }
        var answer = ExchangeAnswer()
        answer.claimed = (0..<count).map { job(Int64($0)) }
        answer.end = answer.claimed.last?.place
        answer.isFull = isFull
        return state.exchanged(exchange, answer, now: now).map { job in
            let record = AttemptRecord(job, generation: state.generation)
            _ = state.started(record, BlockOperation {}, now: now)
            _ = record.begin(at: now)
            return record
        }
    }

    private static let done = AttemptVerdict.completed(result: Data())

    @Test func theFirstStepClaimsWhatCanBegin() {
        var state = Self.state()
        guard case .exchange(let exchange, let group) = state.nextStep(now: .zero) else {
            Issue.record("the worker does not claim")
            return
        }
        #expect(exchange.wanted == 8 && exchange.from == .start && group.isEmpty)
    }

    @Test func endsWaitForOthersUntilTheGroupTime() {
        var state = Self.state()
        let records = Self.begin(&state, 8, isFull: false)
        let now = Duration.milliseconds(100)
        #expect(state.operationEnded(records[0], Self.done, now: now) == true)
        guard case .wait(let until) = state.nextStep(now: now) else {
            Issue.record("one end was not delayed")
            return
        }
        #expect(until == now + Reports.groupTimes.upperBound)
        #expect(state.operationEnded(records[1], Self.done, now: .milliseconds(101)) == false)
        state.jobsAdded()
        guard case .exchange(let exchange, let group) = state.nextStep(now: until) else {
            Issue.record("the group was not committed")
            return
        }
        // The same transaction claims jobs for the two free slots.
        #expect(group.count == 2 && exchange.wanted == 2)
    }

    @Test func freeSlotsAreFilledBeforeTheEndsAreCommitted() {
        var state = Self.state()
        let records = Self.begin(&state, 8, isFull: true)
        let now = Duration.milliseconds(100)
        #expect(state.operationEnded(records[0], Self.done, now: now) == true)
        guard case .wait(let until) = state.nextStep(now: now) else {
            Issue.record("one slot was not left free for a moment")
            return
        }
        #expect(until == now + ClaimPace.longestSlotWait)
        #expect(state.operationEnded(records[1], Self.done, now: .milliseconds(101)) == false)
        guard case .exchange(let exchange, let group) = state.nextStep(now: until) else {
            Issue.record("the slots stay free")
            return
        }
        #expect(group.isEmpty && exchange.wanted == 2)
        #expect(exchange.from == ReadyPlace(rank: 0, position: 7, id: 7))
    }

    @Test func endWaitsAsLongAsItsAttemptTook() {
        var state = Self.state()
        let records = Self.begin(&state, 8, isFull: false)
        func reportTime(now: Duration) -> Duration? {
            guard case .wait(let until) = state.nextStep(now: now) else { return nil }
            return until
        }
        #expect(
            state.operationEnded(records[0], Self.done, now: .milliseconds(30)) == true)
        #expect(reportTime(now: .milliseconds(30)) == .milliseconds(60))
        // A shorter attempt, here one that never began, ends the wait of the longer one.
        let short = AttemptRecord(Self.job(100), generation: 0)
        #expect(state.rejected(short, .handedBack, now: .milliseconds(40)) == true)
        #expect(reportTime(now: .milliseconds(40)) == .milliseconds(45))
        #expect(
            state.operationEnded(records[1], Self.done, now: .milliseconds(41)) == false)
        #expect(reportTime(now: .milliseconds(41)) == .milliseconds(45))
        guard case .exchange(_, let group) = state.nextStep(now: .milliseconds(45)) else {
            Issue.record("the group was not committed")
            return
        }
        #expect(group.count == 3)
    }

    @Test func addedBytesLimitTheGroup() {
        var state = Self.state()
        let records = Self.begin(&state, 8, isFull: false)
        func end(_ index: Int, adding byteCount: Int) -> Bool? {
            let bytes = Data(repeating: 0, count: byteCount)
            let verdict = AttemptVerdict.completed(
                result: Data(), addition: EndAddition(bytes: bytes))
            return state.operationEnded(records[index], verdict, now: .zero)
        }
        #expect(end(0, adding: 1) == true)
        #expect(end(1, adding: Reports.groupBytes - 2) == false)
        #expect(end(2, adding: 1) == true)
        #expect(end(3, adding: Reports.groupBytes + 1) == true)
        #expect(end(4, adding: 1) == true)
        // Without waiting for the group time.
        for count in [3, 1] {
            guard case .exchange(_, let group) = state.nextStep(now: .zero) else {
                Issue.record("a full group waits")
                return
            }
            #expect(group.count == count)
        }
        guard case .wait(let until) = state.nextStep(now: .zero) else {
            Issue.record("the last end does not wait for others")
            return
        }
        #expect(until == Reports.groupTimes.lowerBound)
    }

    @Test func theLastEndIsCommittedAtOnce() {
        var state = Self.state()
        let records = Self.begin(&state, 2, isFull: false)
        for record in records { _ = state.operationEnded(record, Self.done, now: .zero) }
        guard case .exchange(let exchange, let group) = state.nextStep(now: .zero) else {
            Issue.record("the ends wait for nothing")
            return
        }
        // The store had no more jobs, so the worker does not ask again before an event.
        #expect(group.count == 2 && exchange.wanted == 0)
    }

    @Test func claimedAndUncommittedJobsNeverExceedTwiceTheWidth() {
        var state = Self.state(width: 2)
        // One job runs for long. The others end before the time of their report.
        var record = Self.begin(&state, 2, isFull: true)[0]
        var now = Duration.milliseconds(100)
        for number in 2..<4 {
            _ = state.operationEnded(record, Self.done, now: now)
            now += ClaimPace.longestSlotWait
            guard case .exchange(let exchange, let group) = state.nextStep(now: now) else {
                Issue.record("the worker does not go on")
                return
            }
            #expect(group.isEmpty && exchange.wanted == 1)
            var answer = ExchangeAnswer()
            answer.claimed = [Self.job(Int64(number))]
            answer.isFull = true
            _ = state.exchanged(exchange, answer, now: now)
            record = AttemptRecord(answer.claimed[0], generation: 0)
            _ = state.started(record, BlockOperation {}, now: now)
            _ = record.begin(at: .zero)
        }
        _ = state.operationEnded(record, Self.done, now: now)
        #expect(state.outstanding == 4)
        guard case .wait(let until) = state.nextStep(now: now) else {
            Issue.record("the worker claims more")
            return
        }
        #expect(until == .milliseconds(100) + Reports.groupTimes.upperBound)
    }

    /// A state after a transaction of 40 ms with a full look, and after jobs were added.
    private static func stateAfterLook(of lookTime: Duration) -> WorkerState {
        var state = state()
        guard case .exchange(let exchange, _) = state.nextStep(now: .zero) else { return state }
        var answer = ExchangeAnswer()
        answer.lookTime = lookTime
        _ = state.exchanged(exchange, answer, now: .milliseconds(40))
        state.jobsAdded()
        return state
    }

    @Test func slowFullLookIsNotRepeatedAtOnce() {
        var state = Self.stateAfterLook(of: .milliseconds(43))
        guard case .wait(let until) = state.nextStep(now: .milliseconds(50)) else {
            Issue.record("the look was repeated")
            return
        }
        #expect(until == .milliseconds(840))
        guard case .exchange(let again, _) = state.nextStep(now: until) else {
            Issue.record("the look was not repeated")
            return
        }
        #expect(again.from == .start)
    }

    @Test func quickFullLookIsRepeatedAtOnce() {
        // The transaction took long, because a disk synced the ends of other jobs.
        var state = Self.stateAfterLook(of: .milliseconds(2))
        guard case .exchange(let again, _) = state.nextStep(now: .milliseconds(40)) else {
            Issue.record("the look was not repeated")
            return
        }
        #expect(again.from == .start)
    }

    @Test func failedTransactionIsRepeatedWithTheKnownJobs() {
        var state = Self.state()
        let records = Self.begin(&state, 3, isFull: false)
        _ = state.operationEnded(records[0], Self.done, now: .zero)
        guard case .exchange(let first, let group) = state.nextStep(now: .seconds(1)) else {
            return
        }
        state.exchangeFailed(first, group, now: .seconds(1))
        guard case .wait(let until) = state.nextStep(now: .seconds(1)) else {
            Issue.record("the worker does not pause")
            return
        }
        guard case .exchange(let second, let repeated) = state.nextStep(now: until) else {
            Issue.record("the worker gives up")
            return
        }
        #expect(repeated.map(\.record.job.token.job) == [JobID(0)])
        #expect(Set(second.known ?? []) == [Self.job(1).token, Self.job(2).token])
    }

    @Test func stoppingWorkerGivesUpIfTheStoreDoesNotAnswer() {
        var state = Self.state()
        _ = Self.begin(&state, 2, isFull: true)
        _ = state.stopRequested()
        _ = state.graceEnded()
        var now = Duration.seconds(1)
        for _ in 0..<100 {
            switch state.nextStep(now: now) {
            case .wait(let until): now = until
            case .exchange(let exchange, let group):
                state.exchangeFailed(exchange, group, now: now)
            case .handBack(let waiting): _ = state.handBack(waiting, now: now)
            case .finish: return
            }
        }
        Issue.record("the worker tries for ever")
    }

    @Test func workerWithoutTypesWaits() {
        var state = WorkerState(worker: "w", width: 1, queue: "q", performed: [])
        guard case .wait(let until) = state.nextStep(now: .seconds(5)) else {
            Issue.record("the worker claims nothing in particular")
            return
        }
        #expect(until > .seconds(6))
    }

    @Test func lostLeaseForgetsEverything() {
        var state = Self.state()
        let records = Self.begin(&state, 3, isFull: false)
        _ = state.operationEnded(records[0], Self.done, now: .zero)
        let lost = state.leaseLost(newWorker: "x")
        #expect(lost.cancel.count == 2 && lost.dropped.count == 1)
        #expect(state.outstanding == 0 && state.worker == "x")
        // The end of an operation of the earlier incarnation changes nothing.
        #expect(state.operationEnded(records[1], Self.done, now: .zero) == nil)
        #expect(state.outstanding == 0)
    }

    /// The database has crashed, and has lost the claim of a job that still runs.
    @Test func claimOfAHeldJobOvertakesItsAttempt() {
        var state = Self.state()
        let records = Self.begin(&state, 2, isFull: false)
        let again = Self.job(0, claim: 2)
        let overtaken = state.overtaken(by: [again, Self.job(5)])
        #expect(overtaken.count == 1 && overtaken.first?.record === records[0])
        let record = AttemptRecord(again, generation: state.generation)
        let mayStart = state.started(record, BlockOperation {}, now: .zero)
        #expect(mayStart && state.outstanding == 2)
        // The end of the earlier attempt changes nothing.
        #expect(state.operationEnded(records[0], Self.done, now: .zero) == nil)
        #expect(state.operationEnded(record, Self.done, now: .zero) != nil)
        guard case .exchange(_, let group) = state.nextStep(now: .seconds(1)) else {
            Issue.record("the end is not reported")
            return
        }
        #expect(group.map(\.record.job.token.claim) == [2])
    }

    /// The store may have committed the end: then its extension publishes the rest of the result.
    @Test func restOfAnEndWithoutAnAnswerOutlivesTheLease() {
        var state = Self.state()
        let records = Self.begin(&state, 3, isFull: false)
        _ = state.operationEnded(records[0], Self.done, now: .zero)
        guard case .exchange(let exchange, let group) = state.nextStep(now: .seconds(1)) else {
            Issue.record("the end is not reported")
            return
        }
        state.exchangeFailed(exchange, group, now: .seconds(1))
        _ = state.operationEnded(records[1], Self.done, now: .seconds(1))
        let lost = state.leaseLost(newWorker: "x")
        #expect(lost.dropped.count == 1 && lost.dropped.first === records[1])
    }

    @Test func stoppingWorkerHandsBackAndFinishes() {
        var state = Self.state()
        let records = Self.begin(&state, 2, isFull: true)
        #expect(state.stopRequested().isEmpty)
        #expect(state.graceEnded().count == 2)
        #expect(state.operationEnded(records[0], Self.done, now: .zero) == nil)
        guard case .exchange(let exchange, let group) = state.nextStep(now: .seconds(1)) else {
            Issue.record("the jobs are not handed back")
            return
        }
        #expect(exchange.wanted == 0 && group.count == 2)
        guard case .finish = state.nextStep(now: .seconds(1)) else {
            Issue.record("the worker does not finish")
            return
        }
    }

    // MARK: Jobs that cannot begin

    /// Performs the claims that are due, which find as many jobs as they want, and starts their
    /// operations.
    ///
    /// - Parameter next: the number of the first job.
    private static func claim(
        _ state: inout WorkerState, from next: Int64, now: Duration, begins: Bool = true
    ) -> [AttemptRecord] {
        var records: [AttemptRecord] = []
        while case .exchange(let exchange, _) = state.nextStep(now: now) {
            var answer = ExchangeAnswer()
            let first = next + Int64(records.count)
            answer.claimed = (0..<exchange.wanted).map { job(first + Int64($0)) }
            answer.end = answer.claimed.last?.place
            answer.isFull = exchange.wanted > 0
            for job in state.exchanged(exchange, answer, now: now) {
                let record = AttemptRecord(job, generation: state.generation)
                _ = state.started(record, BlockOperation {}, now: now)
                if begins { _ = record.begin(at: now) }
                records.append(record)
            }
        }
        return records
    }

    /// The state of a worker of width 1 whose claims take 5 ms, and whose first body took a time.
    private static func state(afterBodyOf time: Duration) -> (WorkerState, now: Duration) {
        var state = state(width: 1)
        guard case .exchange(let exchange, _) = state.nextStep(now: .zero) else {
            return (state, .zero)
        }
        var answer = ExchangeAnswer()
        answer.claimed = [job(0)]
        answer.isFull = true
        var now = Duration.milliseconds(5)
        let record = AttemptRecord(answer.claimed[0], generation: 0)
        _ = state.exchanged(exchange, answer, now: now)
        _ = state.started(record, BlockOperation {}, now: now)
        _ = record.begin(at: now)
        now += time
        _ = state.operationEnded(record, done, now: now)
        return (state, now)
    }

    @Test func shortBodiesAreClaimedAhead() {
        var (state, now) = Self.state(afterBodyOf: .milliseconds(4))
        let ahead = Self.claim(&state, from: 1, now: now)
        #expect(ahead.count == 2)
        (state, now) = Self.state(afterBodyOf: .milliseconds(6))
        let longer = Self.claim(&state, from: 1, now: now)
        #expect(longer.count == 1)
    }

    @Test func nothingIsClaimedAheadOfABodyThatTakesLong() {
        var (state, now) = Self.state(afterBodyOf: .zero)
        let records = Self.claim(&state, from: 1, now: now)
        _ = state.operationEnded(records[0], Self.done, now: now)
        // The other one has not ended after a round trip.
        now += .seconds(0.5)
        #expect(Self.claim(&state, from: 3, now: now).isEmpty)
    }

    @Test func aJobThatHasNotBegunIsHandedBackAfterASecond() throws {
        var state = Self.state(width: 1)
        guard case .exchange(let exchange, _) = state.nextStep(now: .zero) else { return }
        var answer = ExchangeAnswer()
        answer.claimed = [Self.job(0), Self.job(1)]
        answer.isFull = true
        let records = state.exchanged(exchange, answer, now: .zero).map { job in
            AttemptRecord(job, generation: 0)
        }
        for record in records { _ = state.started(record, BlockOperation {}, now: .zero) }
        #expect(records[0].begin(at: .zero))
        guard case .wait(let until) = state.nextStep(now: .zero) else {
            Issue.record("the worker does not wait")
            return
        }
        #expect(until == UnbegunJobs.patience)
        guard case .handBack(let waiting) = state.nextStep(now: until) else {
            Issue.record("the job is kept")
            return
        }
        #expect(waiting.count == 1 && waiting.first?.record === records[1])
        #expect(state.handBack(waiting, now: until).count == 1)
        // It cannot begin any more, and its end is not reported twice.
        #expect(!records[1].begin(at: until))
        #expect(state.operationEnded(records[1], .notBegun, now: until) == nil)
        // Its slot is taken, so the worker claims nothing with the report.
        guard case .exchange(let report, let group) = state.nextStep(now: until) else {
            Issue.record("nothing is handed back")
            return
        }
        #expect(group.count == 1 && report.wanted == 0)
        guard case .notBegun? = group.first?.verdict else {
            Issue.record("the attempt counts")
            return
        }
    }

    @Test func aJobThatBeginsAtTheLastMomentIsKept() {
        var state = Self.state(width: 1)
        let records = Self.claim(&state, from: 0, now: .zero, begins: false)
        guard case .handBack(let waiting) = state.nextStep(now: UnbegunJobs.patience) else {
            Issue.record("the job is not looked at")
            return
        }
        #expect(records[0].begin(at: UnbegunJobs.patience))
        #expect(state.handBack(waiting, now: UnbegunJobs.patience).isEmpty)
        #expect(state.outstanding == 1)
    }

    @Test func aJobThatWaitsForATimeOfItsOwnIsKept() {
        var state = Self.state(width: 1)
        _ = Self.claim(&state, from: 0, now: .zero, begins: false)
        guard case .handBack(let waiting) = state.nextStep(now: .seconds(1)) else {
            Issue.record("the job is not looked at")
            return
        }
        state.keep(waiting[0], waiting: .seconds(3), now: .seconds(1))
        guard case .wait(let until) = state.nextStep(now: .seconds(1)) else {
            Issue.record("the job is handed back")
            return
        }
        #expect(until == .seconds(5))
    }

    /// Its jobs wait for a budget, for example.
    @Test func aTypeThatDoesNotBeginLeavesItsSlotsToOthersForAWhile() {
        var state = WorkerState(
            worker: "w", width: 2, queue: "q",
            performed: [
                PerformedJob(name: "echo", version: 1), PerformedJob(name: "other", version: 1),
            ])
        let records = Self.claim(&state, from: 0, now: .zero, begins: false)
        #expect(records.count == 2 && records[0].begin(at: .zero))
        guard case .handBack(let waiting) = state.nextStep(now: .seconds(1)) else {
            Issue.record("the job is kept")
            return
        }
        _ = state.handBack(waiting, now: .seconds(1))
        guard case .exchange(let exchange, let group) = state.nextStep(now: .seconds(1)) else {
            Issue.record("nothing is handed back")
            return
        }
        #expect(group.count == 1 && exchange.performed.map(\.name) == ["other"])
        _ = state.exchanged(exchange, ExchangeAnswer(), now: .seconds(1))
        // After a time, or when one of them has ended, the worker looks for all types.
        for isEnd in [false, true] {
            var later = state
            if isEnd { _ = later.operationEnded(records[0], Self.done, now: .seconds(1)) }
            let now = isEnd ? Duration.seconds(1) : .seconds(2)
            guard case .exchange(let exchange, _) = later.nextStep(now: now) else {
                Issue.record("the worker does not look")
                return
            }
            #expect(exchange.performed.count == 2 && exchange.from == .start)
        }
    }

    // MARK: Refused transactions

    /// Performs the next transaction. The store refuses it if it has the end of a job.
    ///
    /// - Returns: the jobs whose ends were reported; nil if there is no transaction.
    private static func report(
        _ state: inout WorkerState, refusing job: Int64, _ refusal: StoreRefusal, now: Duration
    ) -> (jobs: [Int64], verdicts: [AttemptVerdict], isRefused: Bool)? {
        guard case .exchange(let exchange, let group) = state.nextStep(now: now) else { return nil }
        let jobs = group.map { $0.record.job.token.job.rawValue }
        let isRefused = jobs.contains(job)
        if isRefused {
            state.exchangeRefused(exchange, group, refusal, now: now)
        } else {
            _ = state.exchanged(exchange, ExchangeAnswer(), now: now)
        }
        return (jobs, group.map(\.verdict), isRefused)
    }

    @Test func refusedGroupIsSplitUntilTheCauseIsAlone() {
        var state = Self.state(width: 16)
        let records = Self.begin(&state, 16, isFull: false)
        for record in records { _ = state.operationEnded(record, Self.done, now: .seconds(1)) }
        var committed: Set<Int64> = []
        var refused: [[Int64]] = []
        while let step = Self.report(&state, refusing: 5, .locked, now: .seconds(2)) {
            if step.isRefused { refused.append(step.jobs) } else { committed.formUnion(step.jobs) }
            if committed.count == 15 { break }
        }
        #expect(committed == Set(0..<16).subtracting([5]))
        #expect(refused.last == [5] && refused.count <= 12)
        // The lock is left alone for a time, and the end is not forgotten.
        #expect(state.outstanding == 1)
        let later = Duration.seconds(2) + Reports.holdTime
        var jobs: [Int64] = []
        while let step = Self.report(&state, refusing: -1, .locked, now: later) {
            jobs += step.jobs
        }
        #expect(jobs == [5] && state.outstanding == 0)
    }

    @Test func endThatCannotBeStoredGetsAReasonThatCan() {
        var state = Self.state()
        let records = Self.begin(&state, 1, isFull: false)
        let verdict = AttemptVerdict.discarded(error: "čaj")
        _ = state.operationEnded(records[0], verdict, now: .seconds(1))
        var reasons: [String] = []
        for _ in 0..<3 {
            let step = Self.report(&state, refusing: 0, .value, now: .seconds(2))
            guard case .discarded(let reason)? = step?.verdicts.first else { continue }
            reasons.append(reason)
        }
        #expect(
            reasons == [
                "čaj", #"\u{010D}aj"#, "the store refuses the end of its attempt",
            ])
        // Nothing is given up: the store may change.
        #expect(state.outstanding == 1)
    }

    // MARK: Suspects

    @Test func workerThatHoldsJobsMakesRoomForASuspectAfterATime() {
        var state = WorkerState(
            worker: "w", width: 2, queue: "q",
            performed: [PerformedJob(name: "echo", version: 1)], suspectDeaths: 2)
        var now = Duration.zero
        func claim(_ count: Int, isSuspect: Bool, hasSuspects: Bool) -> [AttemptRecord]? {
            guard case .exchange(let exchange, _) = state.nextStep(now: now),
                exchange.wanted > 0, exchange.mayClaimSuspect || !isSuspect
            else { return nil }
            var answer = ExchangeAnswer()
            answer.claimed = (0..<count).map { Self.job(Int64($0)) }
            (answer.isSuspect, answer.hasSuspects) = (isSuspect, hasSuspects)
            answer.isFull = true
            return state.exchanged(exchange, answer, now: now).map { job in
                let record = AttemptRecord(job, generation: state.generation)
                _ = state.started(record, BlockOperation {}, now: now)
                _ = record.begin(at: now)
                return record
            }
        }
        func end(_ records: [AttemptRecord]) {
            for record in records { _ = state.operationEnded(record, Self.done, now: now) }
        }
        let first = claim(2, isSuspect: false, hasSuspects: true) ?? []
        #expect(first.count == 2)
        end(first)
        // It goes on: perhaps another worker is idle.
        now = .seconds(9)
        let second = claim(2, isSuspect: false, hasSuspects: true) ?? []
        #expect(second.count == 2)
        end(second)
        now = .seconds(10)
        let records = claim(2, isSuspect: false, hasSuspects: true) ?? []
        #expect(records.count == 2)
        // It waits until it holds nothing, and does not look all the time.
        guard case .wait(let until) = state.nextStep(now: now) else {
            Issue.record("the worker claims a job")
            return
        }
        #expect(until > now)
        end(records)
        let suspects = claim(1, isSuspect: true, hasSuspects: false) ?? []
        #expect(suspects.count == 1)
        #expect(claim(1, isSuspect: false, hasSuspects: true) == nil)
        end(suspects)
        // Other jobs have their turn.
        #expect(claim(1, isSuspect: true, hasSuspects: true) == nil)
        #expect(claim(2, isSuspect: false, hasSuspects: true)?.count == 2)
    }
}
#endif
