#if DurableJobs
import Operations
import Testing

@testable import DurableJobs

struct UnbegunJobsTests {
    private static func token(_ number: Int64) -> AttemptToken {
        AttemptToken(job: JobID(number), claim: 1, worker: "w")
    }

    @Test func jobsAreDueASecondAfterTheirClaim() {
        var jobs = UnbegunJobs()
        #expect(jobs.next == nil)
        jobs.add(Self.token(1), now: .zero)
        jobs.add(Self.token(2), now: .zero)
        jobs.add(Self.token(3), now: .milliseconds(10))
        #expect(jobs.next == UnbegunJobs.patience)
        #expect(jobs.takeDue(now: UnbegunJobs.patience - .nanoseconds(1)).isEmpty)
        #expect(jobs.takeDue(now: UnbegunJobs.patience) == [Self.token(1), Self.token(2)])
        #expect(jobs.next == UnbegunJobs.patience + .milliseconds(10))
        #expect(jobs.takeDue(now: .seconds(10)) == [Self.token(3)])
        #expect(jobs.next == nil)
    }

    @Test func aJobWithATimeOfItsOwnIsDueLater() {
        var jobs = UnbegunJobs()
        jobs.add(Self.token(1), waiting: .seconds(5), now: .zero)
        jobs.add(Self.token(2), now: .seconds(1))
        jobs.add(Self.token(3), waiting: .seconds(4), now: .seconds(1))
        #expect(jobs.takeDue(now: .seconds(5)) == [Self.token(2)])
        #expect(jobs.next == .seconds(6))
        #expect(jobs.takeDue(now: .seconds(6)) == [Self.token(1), Self.token(3)])
    }
}
#endif
