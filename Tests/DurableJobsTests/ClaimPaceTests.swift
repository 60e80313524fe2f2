#if DurableJobs
import Operations
import Testing

@testable import DurableJobs

struct ClaimPaceTests {
    @Test func withoutMeasurementsNothingIsClaimedAhead() {
        var pace = ClaimPace()
        #expect(!pace.claimsAhead && pace.slotWait == .zero)
        pace.claimAnswered(after: .milliseconds(5))
        #expect(!pace.claimsAhead)
    }

    @Test func bodiesShorterThanARoundTripAreClaimedAhead() {
        var pace = ClaimPace()
        pace.claimAnswered(after: .milliseconds(5))
        pace.bodyEnded(after: .milliseconds(1))
        #expect(pace.claimsAhead)
        // The averages follow what is measured.
        for _ in 0..<30 { pace.bodyEnded(after: .milliseconds(20)) }
        #expect(!pace.claimsAhead)
        for _ in 0..<30 { pace.claimAnswered(after: .milliseconds(40)) }
        #expect(pace.claimsAhead)
    }

    @Test func oneLongBodyAmongShortOnesEndsClaimsAheadForAWhile() {
        var pace = ClaimPace()
        pace.claimAnswered(after: .milliseconds(5))
        for _ in 0..<100 { pace.bodyEnded(after: .zero) }
        pace.bodyEnded(after: .seconds(3600))
        #expect(!pace.claimsAhead)
        for _ in 0..<100 { pace.bodyEnded(after: .zero) }
        #expect(pace.claimsAhead)
    }

    @Test func aJobThatWasHandedBackCountsAsALongBody() {
        var pace = ClaimPace()
        pace.claimAnswered(after: .milliseconds(5))
        pace.bodyEnded(after: .zero)
        pace.jobWasHandedBack()
        #expect(!pace.claimsAhead)
    }

    @Test func whatComesAfterAPauseIsMeasuredAnew() {
        var pace = ClaimPace()
        pace.claimAnswered(after: .milliseconds(5))
        pace.bodyEnded(after: .zero)
        pace.restart()
        #expect(!pace.claimsAhead)
    }

    @Test(arguments: [(16, 1), (48, 3), (80, 5), (4000, 5)])
    func aFreeSlotWaitsForAPartOfABody(body: Int, wait: Int) {
        var pace = ClaimPace()
        pace.bodyEnded(after: .milliseconds(body))
        #expect(pace.slotWait == .milliseconds(wait))
    }
}
#endif
