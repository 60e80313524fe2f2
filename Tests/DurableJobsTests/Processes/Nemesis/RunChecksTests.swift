#if DurableJobs && JOB_FAULTS
import DurableJobs
import Operations
import Testing

/// What the checks of a round's runs find, by hand-written logs.
struct RunChecksTests {
    /// The entries of a run. The times are seconds.
    private func run(
        _ number: UInt64, attempt: Int, from start: Int, to end: Int, lease: Int,
        pauses: [Span] = []
    ) -> [RunLog.Entry] {
        [
            .began(
                run: number, job: JobID(1), attempt: attempt, time: .seconds(start),
                isObedient: true),
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

    @Test func attemptsThatRunAtOnceAreFound() {
        let first = run(1, attempt: 1, from: 10, to: 20, lease: 20)
        #expect(findings(first + run(2, attempt: 2, from: 12, to: 16, lease: 20)) == 1)
        #expect(findings(first + run(2, attempt: 2, from: 19, to: 25, lease: 30)) == 0)
    }
}
#endif
