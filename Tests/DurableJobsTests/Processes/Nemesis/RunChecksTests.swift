#if DurableJobs && JOB_FAULTS
import Operations
import Testing

@testable import DurableJobs

/// What the checks of a round's runs find, by hand-written logs.
struct RunChecksTests {
    /// The entries of a run. The times are seconds.
    private func run(
        _ number: UInt64, attempt: Int, from start: Int, to end: Int, lease: Int,
        pauses: [Span] = [], isCancelled: Bool = false
    ) -> [RunLog.Entry] {
        [
            .began(
                run: number, job: JobID(1), attempt: attempt, process: 1,
                time: .seconds(start), isObedient: true),
            .ended(
                run: number, time: .seconds(end), lease: .seconds(lease), pauses: pauses,
                isCancelled: isCancelled),
        ]
    }

    private func findings(_ entries: [RunLog.Entry], crashes: [Span] = []) -> Int {
        RunChecks(entries, crashes: crashes, lease: .seconds(2))
            .findings(attempts: [JobID(1): 2], fencesItself: true).count
    }

    @Test func runThatOutlivesItsLeaseIsFound() {
        let late = run(1, attempt: 1, from: 10, to: 15, lease: 12)
        #expect(findings(late) == 1)
        #expect(findings(run(1, attempt: 1, from: 10, to: 14, lease: 12)) == 0)
        // While a process is stopped, nothing runs.
        let stop = Span(start: .seconds(11), end: .seconds(14))
        #expect(findings(run(1, attempt: 1, from: 10, to: 15, lease: 12, pauses: [stop])) == 0)
    }

    @Test func runThatBeginsInAPauseIsFound() {
        func findings(_ start: Int, _ more: [RunLog.Entry] = []) -> Int {
            let entries = run(1, attempt: 1, from: start, to: 20, lease: 30) + more
            return RunChecks(entries, crashes: [], lease: .seconds(2))
                .findings(pauses: [Span(start: .seconds(10), end: .seconds(12))]).count
        }
        #expect(findings(9) == 0)
        #expect(findings(11) == 1)
        #expect(findings(13) == 0)
        // The process was stopped when it had decided to begin.
        #expect(findings(11, [.lostLease(process: 1, time: .seconds(12))]) == 0)
        #expect(findings(11, [.lostLease(process: 1, time: .seconds(14))]) == 1)
        #expect(findings(11, [.lostLease(process: 2, time: .seconds(12))]) == 1)
    }

    @Test func runsThatNoAttemptExplainsAreFound() {
        let twice =
            run(1, attempt: 1, from: 10, to: 11, lease: 20)
            + run(2, attempt: 1, from: 12, to: 13, lease: 20)
        #expect(findings(twice) == 1)
        let crash = Span(start: .seconds(11), end: .seconds(12))
        #expect(findings(twice, crashes: [crash]) == 0)
        #expect(findings(run(1, attempt: 3, from: 10, to: 11, lease: 20)) == 1)
    }

    @Test func cancellationWithoutACauseIsFound() {
        let cancelled = run(1, attempt: 1, from: 10, to: 12, lease: 20, isCancelled: true)
        #expect(findings(cancelled) == 1)
        func stopping(_ process: Int32, _ time: Int) -> [RunLog.Entry] {
            [.stopping(process: process, time: .seconds(time), grace: .seconds(1))]
        }
        #expect(findings(cancelled + stopping(1, 11)) == 0)
        #expect(findings(cancelled + stopping(1, 13)) == 1)
        #expect(findings(cancelled + stopping(2, 11)) == 1)
        #expect(findings(cancelled + [.lostLease(process: 1, time: .seconds(12))]) == 0)
        #expect(findings(cancelled + [.lostLease(process: 1, time: .seconds(9))]) == 1)
    }

    // MARK: Deaths

    /// Attempts of one job, of which the first began in process 1, the second in process 2, and so
    /// on.
    ///
    /// - Parameter killed: the processes that were killed.
    private func deaths(attempts: Int, killed: [Int32], limit: Int = 2) -> DeathChecks {
        var entries: [RunLog.Entry] = []
        for number in 1...Int32(attempts) {
            entries += [
                .process(identity: identity(number), number: number),
                .began(
                    run: UInt64(number), job: JobID(1), attempt: Int(number), process: number,
                    time: .seconds(number), isObedient: true),
            ]
        }
        entries += killed.map { .killed(process: $0, time: .seconds(9), wasStopping: false) }
        return DeathChecks(entries, samples: Self.lastLook, deathLimit: limit)
    }

    /// Of the end of a round, after ten seconds. The kills before are of nine seconds.
    private static let lastLook = [
        StoreSample(time: .seconds(10), jobs: [], discarded: [])
    ]

    private func identity(_ process: Int32) -> String {
        "00000000-0000-0000-0000-00000000000\(process)"
    }

    private func row(
        _ state: JobState, attempt: Int = 2, failures: Int = 0, retryLimit: Int = 0,
        deaths: [Int32] = []
    ) -> DeathChecks.Row {
        DeathChecks.Row(
            job: JobID(1), state: state, attempt: attempt, failures: failures,
            retryLimit: retryLimit,
            deadWorkers: deaths.map { "\(identity($0)) worker" }, error: "workers died")
    }

    @Test func deathOfALivingProcessIsFound() {
        let checks = deaths(attempts: 2, killed: [1])
        #expect(checks.findings(row(.cancelled, deaths: [1])).isEmpty)
        #expect(checks.findings(row(.cancelled, deaths: [2])).count == 1)
        #expect(checks.findings(row(.cancelled, deaths: [1, 1])).count == 1)
        // Nobody knows a process that has written nothing, and it has not begun the job.
        #expect(checks.findings(row(.cancelled, deaths: [3])).count == 1)
    }

    /// At the end of a round all processes are killed.
    @Test func deathBeforeTheKillIsFound() {
        func findings(killedAt time: Int, discardedAt discard: Int? = nil) -> Int {
            let looks = [5, 8, 10].map { look in
                StoreSample(
                    time: .seconds(look), jobs: [],
                    discarded: discard.map { $0 <= look ? [JobID(1)] : [] } ?? [])
            }
            return DeathChecks(
                [
                    .process(identity: identity(1), number: 1),
                    .killed(process: 1, time: .seconds(time), wasStopping: false),
                ], samples: looks, deathLimit: 1
            ).findings(row(.discarded, deaths: [1])).count
        }
        #expect(findings(killedAt: 9) == 0)
        #expect(findings(killedAt: 11) == 1)
        #expect(findings(killedAt: 9, discardedAt: 9) == 0)
        #expect(findings(killedAt: 9, discardedAt: 6) == 1)
    }

    @Test func deathOfAProcessThatWasAskedToStopIsFound() {
        let checks = DeathChecks(
            [
                .process(identity: identity(1), number: 1),
                .killed(process: 1, time: .seconds(1), wasStopping: true),
            ], samples: Self.lastLook, deathLimit: 2)
        #expect(checks.findings(row(.cancelled, deaths: [1])).count == 1)
    }

    @Test func discardOfAHealthyJobIsFound() {
        let both = row(.discarded, deaths: [1, 2])
        #expect(deaths(attempts: 2, killed: [1, 2]).findings(discarded: both).isEmpty)
        #expect(deaths(attempts: 2, killed: [1]).findings(discarded: both).count == 1)
        #expect(deaths(attempts: 2, killed: [1, 2], limit: 3).findings(discarded: both).count == 2)
        // One death is fewer than the limit of two, although both processes were killed.
        let one = row(.discarded, deaths: [1])
        #expect(deaths(attempts: 2, killed: [1, 2]).findings(discarded: one).count == 1)
        // The process of the third attempt may have been killed before the body began.
        let later = row(.discarded, attempt: 3, deaths: [1, 3])
        #expect(deaths(attempts: 2, killed: [1]).findings(discarded: later).isEmpty)
    }

    /// The job ran beside another one in process 2 when that was killed.
    @Test func discardOfAJobThatWasNotAloneIsFound() {
        func findings(otherFrom start: Int, to end: Int?, limit: Int = 2) -> Int {
            var entries: [RunLog.Entry] = []
            for number in 1...Int32(2) {
                entries += [
                    .process(identity: identity(number), number: number),
                    .began(
                        run: UInt64(number), job: JobID(1), attempt: Int(number), process: number,
                        time: .seconds(Int(number)), isObedient: true),
                    .killed(process: number, time: .seconds(9), wasStopping: false),
                ]
            }
            entries.append(
                .began(
                    run: 7, job: JobID(2), attempt: 1, process: 2, time: .seconds(start),
                    isObedient: true))
            if let end {
                entries.append(
                    .ended(
                        run: 7, time: .seconds(end), lease: nil, pauses: [], isCancelled: false))
            }
            return DeathChecks(entries, samples: Self.lastLook, deathLimit: 2)
                .findings(discarded: row(.discarded, deaths: [1, 2])).count
        }
        #expect(findings(otherFrom: 3, to: nil) == 1)
        #expect(findings(otherFrom: 3, to: 8) == 0)
        #expect(findings(otherFrom: 10, to: nil) == 0)
    }

    @Test func failuresThatNoDeployExplainsAreFound() {
        let begun: [RunLog.Entry] = [
            .began(
                run: 1, job: JobID(1), attempt: 1, process: 1, time: .zero, isObedient: true)
        ]
        func findings(_ failures: Int, hasDeploys: Bool = true) -> Int {
            let entries = begun + (hasDeploys ? [.deployed(process: 2)] : [])
            let checks = DeathChecks(entries, samples: Self.lastLook, deathLimit: 2)
            return checks.findings(failures: row(.completed, attempt: 3, failures: failures)).count
        }
        #expect(findings(0) == 0)
        #expect(findings(2) == 0)
        // The first attempt has begun, so it did not fail.
        #expect(findings(3) == 1)
        #expect(findings(1, hasDeploys: false) == 1)
    }

    @Test func discardWithRetriesLeftIsFound() {
        let checks = deaths(attempts: 1, killed: [])
        func findings(_ failures: Int) -> Int {
            checks.findings(
                discarded: row(.discarded, attempt: 3, failures: failures, retryLimit: 1)
            ).count
        }
        #expect(findings(2) == 0)
        #expect(findings(1) == 1)
    }

    // MARK: Events and stops

    /// The end of an attempt of job 1 in process 1, ten seconds after the start.
    private func end(isObedient: Bool = false) -> [RunLog.Entry] {
        [
            .process(identity: identity(1), number: 1),
            .began(
                run: 1, job: JobID(1), attempt: 1, process: 1, time: .seconds(9),
                isObedient: isObedient),
            .ended(
                run: 1, time: .seconds(10), lease: nil, pauses: [], isCancelled: false),
        ]
    }

    /// Looks find job 1 discarded after 10 s, and not at 9.9 s.
    private func events(
        _ entries: [RunLog.Entry], worker: String?, disturbances: [Span] = []
    ) -> Int {
        let samples = [9_900, 10_000, 10_100].map { time in
            StoreSample(
                time: .milliseconds(time), jobs: [], discarded: time < 10_000 ? [] : [JobID(1)])
        }
        return EndChecks(end() + entries, samples: samples, disturbances: disturbances)
            .findings(discarded: [(job: JobID(1), worker: worker)]).count
    }

    @Test func discardWithoutAnEventIsFound() {
        func findings(_ entries: [RunLog.Entry]) -> Int {
            events(entries, worker: "\(identity(1)) worker")
        }
        #expect(findings([]) == 1)
        #expect(findings([.discarded(job: JobID(2))]) == 1)
        #expect(findings([.discarded(job: JobID(1))]) == 0)
        // A process that was killed, or has lost its lease, at this time, and no other one.
        #expect(findings([.killed(process: 1, time: .seconds(11), wasStopping: false)]) == 0)
        #expect(findings([.lostLease(process: 1, time: .seconds(11))]) == 0)
        #expect(findings([.lostLease(process: 1, time: .seconds(40))]) == 1)
        #expect(findings([.killed(process: 2, time: .seconds(11), wasStopping: false)]) == 1)
    }

    /// Any process may have discarded the job, if it was killed at this moment.
    @Test func discardOfARescueWithoutAnEventIsFound() {
        func findings(killedAfter milliseconds: Int, _ disturbances: [Span] = []) -> Int {
            let time = Duration.milliseconds(milliseconds)
            return events(
                [.killed(process: 2, time: time, wasStopping: false)], worker: nil,
                disturbances: disturbances)
        }
        #expect(events([], worker: nil) == 1)
        #expect(findings(killedAfter: 9_800) == 1)
        #expect(findings(killedAfter: 10_200) == 0)
        #expect(findings(killedAfter: 10_800) == 1)
        // A process that stood still was killed later.
        let stop = Span(start: .seconds(9), end: .seconds(12))
        #expect(findings(killedAfter: 10_800, [stop]) == 0)
    }

    @Test func workerThatDoesNotStopInTimeIsFound() {
        func findings(
            _ entries: [RunLog.Entry], isObedient: Bool = false, outages: [Span] = []
        ) -> Int {
            EndChecks(
                end(isObedient: isObedient) + [
                    .stopping(process: 1, time: .seconds(8), grace: .seconds(1))
                ] + entries, samples: [], disturbances: []
            ).stopFindings(outages: outages).count
        }
        func stopped(_ time: Int, pause: Int = 0) -> RunLog.Entry {
            .stopped(process: 1, time: .seconds(time), pause: .seconds(pause))
        }
        #expect(findings([]) == 1)
        // The body ended at 10, a second after the grace period.
        #expect(findings([stopped(11)]) == 0)
        #expect(findings([stopped(12)]) == 1)
        #expect(findings([stopped(11)], isObedient: true) == 1)
        #expect(findings([stopped(12, pause: 1)]) == 0)
        #expect(findings([.killed(process: 1, time: .seconds(11), wasStopping: true)]) == 0)
        #expect(findings([.killed(process: 1, time: .seconds(20), wasStopping: true)]) == 1)
        let outage = Span(start: .seconds(11), end: .seconds(20))
        #expect(findings([stopped(20)], outages: [outage]) == 0)
    }

    // MARK: Liveness

    /// Every 100 ms from 0 to 5 s.
    private static let times = (0...50).map { Duration.milliseconds($0 * 100) }

    /// Job 1 waits from 0 to 5 s, in the store or in a worker of process 2, while process 1 has a
    /// free slot. The suspects are further jobs, which must run alone.
    private func waits(
        isClaimed: Bool = false, suspects: Int = 0, entries: [RunLog.Entry] = [],
        disturbances: [Span] = [], freeUntil end: Int = 50
    ) -> Int {
        let worker = isClaimed ? "\(identity(2)) worker" : nil
        let others = (0..<suspects).map {
            StoreSample.Job(id: JobID(2 + Int64($0)), attempt: 1, worker: nil, deaths: 2)
        }
        let samples = Self.times.map { time in
            StoreSample(
                time: time,
                jobs: [.init(id: JobID(1), attempt: 1, worker: worker, deaths: 0)] + others,
                discarded: [])
        }
        return LivenessChecks(
            free(1, until: end) + [.process(identity: identity(2), number: 2)] + entries,
            samples: samples, disturbances: disturbances, lease: .seconds(1), deathLimit: 3
        ).findings().count
    }

    private func free(_ process: Int32, until end: Int = 50) -> [RunLog.Entry] {
        Self.times.prefix(end + 1).map {
            .leased(process: process, time: $0, hasFreeSlot: true)
        }
    }

    private func began(at time: Duration) -> RunLog.Entry {
        .began(run: 1, job: JobID(1), attempt: 1, process: 2, time: time, isObedient: true)
    }

    @Test func jobThatWaitsBesideAFreeSlotIsFound() {
        #expect(waits() == 1)
        #expect(waits(freeUntil: 10) == 0)
        // The body has begun.
        #expect(waits(isClaimed: true, entries: [began(at: .seconds(1))]) == 0)
        #expect(waits(isClaimed: true, entries: [began(at: .seconds(3))]) == 1)
        let outage = Span(start: .seconds(0), end: .seconds(4))
        #expect(waits(disturbances: [outage]) == 0)
    }

    /// Nobody takes a job from a worker that has died before its lease has ended. A job in the
    /// store need not wait for that.
    @Test func jobOfADeadWorkerWaitsLonger() {
        let death = RunLog.Entry.killed(process: 2, time: .zero, wasStopping: false)
        #expect(waits(isClaimed: true, entries: [death]) == 1)
        #expect(waits(isClaimed: true, entries: [death], freeUntil: 30) == 0)
        #expect(waits(isClaimed: true, freeUntil: 30) == 1)
        #expect(waits(entries: [death], freeUntil: 30) == 1)
    }

    /// One worker keeps its slots free for each job that must run alone; the others go on.
    @Test func oneWorkerKeepsItsSlotsFreeForASuspect() {
        #expect(waits(suspects: 1) == 0)
        #expect(waits(suspects: 1, entries: free(3)) == 1)
        #expect(waits(suspects: 2, entries: free(3)) == 0)
    }

    /// A process whose thread waits for a processor, for 60 of each 170 ms, may be late by as much.
    @Test func timeWithoutAProcessorIsNotTheWorkers() {
        func isFound(after milliseconds: Int) -> Bool {
            let notes = (0...100).map { number in
                RunLog.Entry.leased(
                    process: 1, time: .milliseconds(number * 170), hasFreeSlot: true)
            }
            let end = Duration.milliseconds(milliseconds)
            return !LeaseNotes(notes).processes(
                since: end - LivenessChecks.patience, until: end, isFree: true
            ).isEmpty
        }
        #expect(!isFound(after: 1_700))
        #expect(isFound(after: 3_400))
    }

    @Test func lossOfALeaseWithoutACauseIsFound() {
        func findings(
            at milliseconds: Int, leasedUntil end: Int = 50, disturbances: [Span] = []
        ) -> Int {
            LeaseChecks(
                free(1, until: end) + [.lostLease(process: 1, time: .milliseconds(milliseconds))],
                disturbances: disturbances, lease: .seconds(1)
            ).findings().count
        }
        #expect(findings(at: 3_000) == 1)
        // The process stood still.
        #expect(findings(at: 3_000, leasedUntil: 20) == 0)
        #expect(findings(at: 500) == 0)
        let stop = Span(start: .seconds(1), end: .milliseconds(1_500))
        #expect(findings(at: 3_000, disturbances: [stop]) == 0)
        #expect(findings(at: 4_500, disturbances: [stop]) == 1)
    }

    // MARK: Jobs of dead workers

    @Test func jobThatStaysWithADeadWorkerIsFound() {
        func findings(
            killedAt time: Int = 0, leasedFrom start: Int = 0, deaths: Int = 0,
            disturbances: [Span] = []
        ) -> Int {
            let samples = Self.times.map { time in
                StoreSample(
                    time: time,
                    jobs: [
                        .init(
                            id: JobID(1), attempt: 1, worker: "\(identity(2)) worker",
                            deaths: deaths)
                    ], discarded: [])
            }
            let leased = Self.times.dropFirst(start * 10).map {
                RunLog.Entry.leased(process: 1, time: $0, hasFreeSlot: false)
            }
            return TakeoverChecks(
                leased + [
                    .process(identity: identity(2), number: 2),
                    .killed(process: 2, time: .seconds(time), wasStopping: false),
                ], samples: samples, disturbances: disturbances, lease: .seconds(1), deathLimit: 3
            ).findings().count
        }
        #expect(findings() == 1)
        #expect(findings(killedAt: 3) == 0)
        // No other worker has lived for long enough.
        #expect(findings(leasedFrom: 4) == 0)
        // The death may discard the job, so it counts only when the worker does not come back.
        #expect(findings(deaths: 2) == 0)
        #expect(findings(disturbances: [Span(start: .zero, end: .seconds(5))]) == 0)
    }

    @Test func attemptsThatRunAtOnceAreFound() {
        let first = run(1, attempt: 1, from: 10, to: 20, lease: 20)
        #expect(findings(first + run(2, attempt: 2, from: 12, to: 16, lease: 20)) == 1)
        #expect(findings(first + run(2, attempt: 2, from: 19, to: 25, lease: 30)) == 0)
    }
}
#endif
