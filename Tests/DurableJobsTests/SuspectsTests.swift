#if DurableJobs
import Operations
import Testing

@testable import DurableJobs

struct SuspectsTests {
    private static func answer(isSuspect: Bool = false, hasSuspects: Bool) -> ExchangeAnswer {
        var answer = ExchangeAnswer()
        (answer.isSuspect, answer.hasSuspects) = (isSuspect, hasSuspects)
        return answer
    }

    @Test func aBusyWorkerMakesRoomAfterATime() {
        var suspects = Suspects(deaths: 2)
        let answer = Self.answer(hasSuspects: true)
        var looksAgain = suspects.answered(
            answer, isFullLook: true, mayClaim: false, now: .zero)
        #expect(!looksAgain && !suspects.isMakingRoom(holding: 1))
        let later = Suspects.patience
        looksAgain = suspects.answered(answer, isFullLook: true, mayClaim: false, now: later)
        #expect(looksAgain && suspects.isMakingRoom(holding: 1))
        #expect(!suspects.isMakingRoom(holding: 0))
        #expect(suspects.mayClaim(holding: 0) && !suspects.mayClaim(holding: 1))
    }

    @Test func theTimeBeginsAnewWhenNoSuspectIsLeft() {
        var suspects = Suspects(deaths: 2)
        let (some, none) = (Self.answer(hasSuspects: true), Self.answer(hasSuspects: false))
        _ = suspects.answered(some, isFullLook: true, mayClaim: false, now: .zero)
        // Only a full look finds suspects.
        _ = suspects.answered(none, isFullLook: false, mayClaim: false, now: .seconds(5))
        _ = suspects.answered(some, isFullLook: true, mayClaim: false, now: .seconds(10))
        #expect(suspects.isMakingRoom(holding: 1))
        _ = suspects.answered(none, isFullLook: true, mayClaim: false, now: .seconds(11))
        _ = suspects.answered(some, isFullLook: true, mayClaim: false, now: .seconds(20))
        #expect(!suspects.isMakingRoom(holding: 1))
    }

    @Test func suspectsAndOtherJobsTakeTurns() {
        var suspects = Suspects(deaths: 2)
        let first = Self.answer(isSuspect: true, hasSuspects: false)
        let looksAgain = suspects.answered(first, isFullLook: true, mayClaim: true, now: .zero)
        #expect(looksAgain && suspects.isMakingRoom(holding: 1))
        #expect(!suspects.mayClaim(holding: 0))
        let second = Self.answer(hasSuspects: true)
        _ = suspects.answered(second, isFullLook: true, mayClaim: false, now: .zero)
        #expect(suspects.mayClaim(holding: 0))
    }

    @Test func aWorkerWithoutALimitOfDeathsKnowsNoSuspects() {
        #expect(!Suspects(deaths: .max).mayClaim(holding: 0))
    }
}
#endif
