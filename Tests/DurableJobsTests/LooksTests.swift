#if DurableJobs
import Operations
import Testing

@testable import DurableJobs

struct LooksTests {
    private static let place = ReadyPlace(rank: 0, position: 7, id: 7)

    private static let looks = Looks([
        PerformedJob(name: "echo", version: 1), PerformedJob(name: "other", version: 1),
    ])

    private static func answer(isFull: Bool) -> ExchangeAnswer {
        var answer = ExchangeAnswer()
        (answer.end, answer.isFull) = (place, isFull)
        return answer
    }

    @Test func aLookContinuesWhereTheLastOneEnded() {
        var looks = Self.looks
        #expect(looks.isDue(now: .zero))
        #expect(looks.begin(now: .zero) == .start)
        looks.answered(Self.answer(isFull: true), now: .zero)
        #expect(looks.isDue(now: .zero))
        #expect(looks.begin(now: .zero) == Self.place)
        looks.answered(Self.answer(isFull: false), now: .zero)
        #expect(!looks.isDue(now: .zero) && looks.next == Looks.pollTime)
    }

    @Test func newJobsMayBeAnywhere() {
        var looks = Self.looks
        _ = looks.begin(now: .zero)
        looks.answered(Self.answer(isFull: false), now: .zero)
        looks.jobsAdded()
        #expect(looks.next == .zero)
        #expect(looks.begin(now: .zero) == .start)
    }

    @Test func aWorkerPollsAndAlsoWhenAJobIsDue() {
        var looks = Self.looks
        _ = looks.begin(now: .zero)
        var answer = Self.answer(isFull: false)
        answer.nextDue = .milliseconds(300)
        looks.answered(answer, now: .seconds(1))
        #expect(looks.next == .milliseconds(1300))
        looks.timePassed(now: .milliseconds(1299))
        #expect(!looks.isDue(now: .milliseconds(1299)))
        looks.timePassed(now: .milliseconds(1300))
        #expect(looks.isDue(now: .milliseconds(1300)))
    }

    @Test func aSlowFullLookIsNotRepeatedAtOnce() {
        var looks = Self.looks
        _ = looks.begin(now: .zero)
        var answer = Self.answer(isFull: false)
        answer.lookTime = Looks.quickLook + .milliseconds(10)
        looks.answered(answer, now: .zero)
        looks.jobsAdded()
        #expect(looks.next == .milliseconds(200) && !looks.isDue(now: .milliseconds(199)))
    }

    @Test func aLookWithoutAnAnswerIsRepeated() {
        var looks = Self.looks
        _ = looks.begin(now: .zero)
        looks.answered(Self.answer(isFull: false), now: .zero)
        looks.failed()
        #expect(looks.isDue(now: .zero))
    }

    @Test func aStuckTypeIsLeftToOthersForAWhile() {
        var looks = Self.looks
        _ = looks.begin(now: .zero)
        looks.answered(Self.answer(isFull: true), now: .zero)
        looks.typeIsStuck("echo", now: .zero)
        #expect(looks.types.map(\.name) == ["other"] && looks.nextType == Looks.pollTime)
        looks.timePassed(now: Looks.pollTime)
        #expect(looks.types.count == 2 && looks.nextType == nil)
        // Its jobs may come before the last place.
        #expect(looks.begin(now: Looks.pollTime) == .start)
        looks.typeIsStuck("echo", now: .seconds(5))
        looks.jobEnded(ofType: "other")
        #expect(looks.types.count == 1)
        looks.jobEnded(ofType: "echo")
        #expect(looks.types.count == 2)
    }

    @Test func theHeadIsThatOfFullLooks() {
        var looks = Self.looks
        _ = looks.begin(now: .zero)
        var answer = Self.answer(isFull: true)
        answer.claimed = [WorkerStateTests.job(3)]
        looks.answered(answer, now: .zero)
        let heads = (looks.takeHead(), looks.takeHead())
        #expect(heads.0?.id == 3 && heads.1 == nil)
        _ = looks.begin(now: .zero)
        looks.answered(answer, now: .zero)
        #expect(looks.takeHead() == nil)
    }
}
#endif
