#if DurableJobs
import Operations
import Testing

@testable import DurableJobs

struct ClaimPaceTests {
    @Test func withoutMeasurementsNothingIsClaimedAhead() {
        var pace = ClaimPace()
        #expect(!pace.claimsAhead && pace.claimTime == .zero)
        pace.answerClaim(after: .milliseconds(5))
        #expect(!pace.claimsAhead)
    }

    @Test func bodiesShorterThanARoundTripAreClaimedAhead() {
        var pace = ClaimPace()
        pace.answerClaim(after: .milliseconds(5))
        pace.bodyEnded(after: .milliseconds(1))
        #expect(pace.claimsAhead)
        // The averages follow what is measured.
        for _ in 0..<30 { pace.bodyEnded(after: .milliseconds(20)) }
        #expect(!pace.claimsAhead)
        for _ in 0..<30 { pace.answerClaim(after: .milliseconds(40)) }
        #expect(pace.claimsAhead)
    }

    @Test func oneLongBodyAmongShortOnesEndsClaimsAheadForAWhile() {
        var pace = ClaimPace()
        pace.answerClaim(after: .milliseconds(5))
        for _ in 0..<100 { pace.bodyEnded(after: .zero) }
        pace.bodyEnded(after: .seconds(3600))
        #expect(!pace.claimsAhead)
        for _ in 0..<100 { pace.bodyEnded(after: .zero) }
        #expect(pace.claimsAhead)
    }

    @Test func aJobThatWasHandedBackCountsAsALongBody() {
        var pace = ClaimPace()
        pace.answerClaim(after: .milliseconds(5))
        pace.bodyEnded(after: .zero)
        pace.jobWasHandedBack()
        #expect(!pace.claimsAhead)
    }

    @Test func whatComesAfterAPauseIsMeasuredAnew() {
        var pace = ClaimPace()
        pace.answerClaim(after: .milliseconds(5))
        pace.bodyEnded(after: .zero)
        pace.restart()
        #expect(!pace.claimsAhead)
    }

    @Test(arguments: [(16, 1), (48, 3), (80, 5), (4000, 5)])
    func aFreeSlotWaitsForAPartOfABody(body: Int, wait: Int) {
        var pace = ClaimPace()
        pace.bodyEnded(after: .milliseconds(body))
        #expect(pace.slotBecameFree(now: .seconds(9)) == true)
        #expect(pace.claimTime == .seconds(9) + .milliseconds(wait))
        // Others do not make it wait longer.
        #expect(pace.slotBecameFree(now: .seconds(10)) == false)
        #expect(pace.claimTime == .seconds(9) + .milliseconds(wait))
        pace.claimBegan(now: .seconds(10))
        #expect(pace.claimTime == .zero)
    }

    @Test func theRoundTripBeginsWhenASlotBecomesFree() {
        var pace = ClaimPace()
        _ = pace.slotBecameFree(now: .milliseconds(100))
        pace.claimBegan(now: .milliseconds(104))
        // A slot that becomes free meanwhile waits for the next claim.
        #expect(pace.slotBecameFree(now: .milliseconds(105)) == true)
        pace.claimAnswered(now: .milliseconds(107))
        #expect(pace.roundTrip == .milliseconds(7))
        pace.claimBegan(now: .milliseconds(110))
        pace.claimAnswered(now: .milliseconds(120))
        #expect(pace.roundTrip == .milliseconds(8))
    }
}

extension ClaimPace {
    fileprivate mutating func answerClaim(after time: Duration) {
        claimBegan(now: .zero)
        claimAnswered(now: time)
    }
}
#endif
