#if DurableJobs && JOB_FAULTS
import Operations
import Testing

@testable import DurableJobs

/// What the checks of a round's runs find, by hand-written logs.
struct RunChecksTests {
    /// The entries of a run. The times are seconds.
    private func run(
        _ number: UInt64, attempt: Int, from start: Int, to end: Int, lease: Int,
        pauses: [Span] = []
    ) -> [RunLog.Entry] {
        [
            .began(
                run: number, job: JobID(1), attempt: attempt, process: 1,
                time: .seconds(start), isObedient: true),
            .ended(
                run: number, time: .seconds(end), lease: .seconds(lease), pauses: pauses),
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

    @Test func runsThatNoAttemptExplainsAreFound() {
        let twice =
            run(1, attempt: 1, from: 10, to: 11, lease: 20)
            + run(2, attempt: 1, from: 12, to: 13, lease: 20)
        #expect(findings(twice) == 1)
        let crash = Span(start: .seconds(11), end: .seconds(12))
        #expect(findings(twice, crashes: [crash]) == 0)
        #expect(findings(run(1, attempt: 3, from: 10, to: 11, lease: 20)) == 1)
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
        return DeathChecks(entries, deathLimit: limit)
    }

    private func identity(_ process: Int32) -> String {
        "00000000-0000-0000-0000-00000000000\(process)"
    }

    private func row(_ state: JobState, attempt: Int = 2, deaths: [Int32]) -> DeathChecks.Row {
        DeathChecks.Row(
            job: JobID(1), state: state, attempt: attempt,
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

    @Test func deathOfAProcessThatWasAskedToStopIsFound() {
        let checks = DeathChecks(
            [
                .process(identity: identity(1), number: 1),
                .killed(process: 1, time: .seconds(1), wasStopping: true),
            ], deathLimit: 2)
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

    // MARK: Events and stops

    /// The end of an attempt of job 1 in process 1, ten seconds after the start.
    private func end(isObedient: Bool = false) -> [RunLog.Entry] {
        [
            .process(identity: identity(1), number: 1),
            .began(
                run: 1, job: JobID(1), attempt: 1, process: 1, time: .seconds(9),
                isObedient: isObedient),
            .ended(run: 1, time: .seconds(10), lease: nil, pauses: []),
        ]
    }

    @Test func discardWithoutAnEventIsFound() {
        let discarded: [(job: JobID, worker: String?)] = [(JobID(1), "\(identity(1)) worker")]
        func findings(_ entries: [RunLog.Entry]) -> Int {
            EndChecks(end() + entries).findings(discarded: discarded).count
        }
        #expect(findings([]) == 1)
        #expect(findings([.discarded(job: JobID(2))]) == 1)
        #expect(findings([.discarded(job: JobID(1))]) == 0)
        // A process that was killed, or has lost its lease, at this time, and no other one.
        #expect(findings([.killed(process: 1, time: .seconds(11), wasStopping: false)]) == 0)
        #expect(findings([.lostLease(process: 1, time: .seconds(11))]) == 0)
        #expect(findings([.lostLease(process: 1, time: .seconds(40))]) == 1)
        #expect(findings([.killed(process: 2, time: .seconds(11), wasStopping: false)]) == 1)
        #expect(EndChecks(end()).findings(discarded: [(JobID(1), nil)]).count == 1)
    }

    @Test func workerThatDoesNotStopInTimeIsFound() {
        func findings(
            _ entries: [RunLog.Entry], isObedient: Bool = false, outages: [Span] = []
        ) -> Int {
            EndChecks(
                end(isObedient: isObedient) + [
                    .stopping(process: 1, time: .seconds(8), grace: .seconds(1))
                ] + entries
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

    /// Job 1 waits from 0 to 5 s, in the store or in a worker, while process 1 has a free slot.
    private func waits(
        isClaimed: Bool = false, hasSuspects: Bool = false, entries: [RunLog.Entry] = [],
        disturbances: [Span] = [], freeUntil end: Int = 50
    ) -> Int {
        let times = (0...50).map { Duration.milliseconds($0 * 100) }
        let samples = times.map { time in
            LivenessChecks.Sample(
                time: time, jobs: [.init(id: JobID(1), attempt: 1, isClaimed: isClaimed)],
                hasSuspects: hasSuspects)
        }
        return LivenessChecks(
            times.prefix(end + 1).map { RunLog.Entry.free(process: 1, time: $0) } + entries,
            samples: samples,
            disturbances: disturbances, lease: .seconds(1)
        ).findings().count
    }

    private func began(at time: Duration) -> RunLog.Entry {
        .began(run: 1, job: JobID(1), attempt: 1, process: 2, time: time, isObedient: true)
    }

    @Test func jobThatWaitsBesideAFreeSlotIsFound() {
        #expect(waits() == 1)
        #expect(waits(freeUntil: 10) == 0)
        #expect(waits(hasSuspects: true) == 0)
        // The body has begun.
        #expect(waits(isClaimed: true, entries: [began(at: .seconds(1))]) == 0)
        #expect(waits(isClaimed: true, entries: [began(at: .seconds(3))]) == 1)
        // A worker that died had it, or still has it.
        let death = RunLog.Entry.killed(process: 2, time: .seconds(1), wasStopping: false)
        #expect(waits(entries: [death]) == 1)
        #expect(waits(entries: [death], freeUntil: 30) == 0)
        let outage = Span(start: .seconds(0), end: .seconds(4))
        #expect(waits(disturbances: [outage]) == 0)
    }

    @Test func attemptsThatRunAtOnceAreFound() {
        let first = run(1, attempt: 1, from: 10, to: 20, lease: 20)
        #expect(findings(first + run(2, attempt: 2, from: 12, to: 16, lease: 20)) == 1)
        #expect(findings(first + run(2, attempt: 2, from: 19, to: 25, lease: 30)) == 0)
    }
}
#endif
