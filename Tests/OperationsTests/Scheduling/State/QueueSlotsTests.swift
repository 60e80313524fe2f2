import Testing

@testable import Operations
@testable import OperationsRuntime

/// The slots of a queue's width, and its claims, without a queue.
struct QueueSlotsTests {
    private func claim(_ entries: Int, _ kind: Claim.Slots = .one) -> Claim {
        let claim = Claim()
        claim.claimed(slots: kind, recallEpoch: 0) { filling in
            for place in 0..<entries {
                let operation = Unmanaged<Operation>.passRetained(BlockOperation {})
                filling.append(.operation(operation), at: place)
            }
        }
        return claim
    }

    @Test(arguments: [
        (width: -1, taken: 100, isFree: true), (0, 0, false), (1, 0, true), (1, 1, false),
        (3, 2, true), (3, 3, false), (1, 5, false),
    ])
    func aSlotIsFreeBelowTheWidth(width: Int, taken: Int, isFree: Bool) {
        var slots = QueueSlots(width: width)
        slots.take(taken)
        #expect(slots.hasFree == isFree && slots.mayBegin == isFree)
        slots.isSuspended = true
        #expect(slots.hasFree == isFree && !slots.mayBegin)
        slots.giveBack(taken)
        #expect(slots.taken == 0)
    }

    @Test func aClaimTakesItsSlotsAndKeepsThemWhenItIsForgotten() {
        var slots = QueueSlots(width: 8)
        let (one, each) = (claim(3), claim(3, .each))
        slots.register(one)
        slots.register(each)
        #expect(slots.taken == 4 && slots.contains(one) && slots.contains(each))
        slots.unregister(one)
        #expect(slots.taken == 4 && !slots.contains(one) && slots.contains(each))
        // Nothing happens for a claim that is not there.
        slots.unregister(one)
        #expect(slots.claims.count == 1)
    }

    @Test func claimsAreRecalledOnlyIfThereAreAny() {
        var slots = QueueSlots(width: 1)
        slots.recall()
        #expect(slots.recallEpoch == 0)
        let claim = claim(1)
        slots.register(claim)
        slots.recall()
        slots.recall()
        #expect(slots.recallEpoch == 2)
        slots.unregister(claim)
        slots.recall()
        #expect(slots.recallEpoch == 2)
    }

    @Test func theLowestClaimedLaneIsForgottenWithTheLastClaim() {
        var slots = QueueSlots(width: 4)
        #expect(slots.lowestClaimedLane == PriorityLanes.count)
        let (first, second) = (claim(1), claim(1))
        slots.register(first)
        slots.holds(lane: 3)
        slots.register(second)
        slots.holds(lane: 4)
        #expect(slots.lowestClaimedLane == 3)
        slots.unregister(first)
        #expect(slots.lowestClaimedLane == 3)
        slots.unregister(second)
        #expect(slots.lowestClaimedLane == PriorityLanes.count)
    }

    @Test func bodiesThatSuspendNeedASlotForEachEntry() {
        var slots = QueueSlots(width: 4)
        slots.pace.learn(10, nanoseconds: 100, suspends: false)
        slots.pace.learn(10, nanoseconds: 100, suspends: false)
        while !slots.pace.isQuick { slots.pace.learn(10, nanoseconds: 100, suspends: false) }
        #expect(slots.claimSize(of: 100, cores: 1, most: .max) > 4)
        slots.pace.learn(10, nanoseconds: 100, suspends: true)
        slots.take()
        #expect(slots.claimSize(of: 100, cores: 1, most: .max) == 3)
        slots.take(3)
        #expect(slots.claimSize(of: 100, cores: 1, most: .max) == 1)
        slots.width = -1
        #expect(slots.claimSize(of: 100, cores: 1, most: .max) > 4)
    }
}

/// How many entries a claim takes.
struct ClaimPaceTests {
    private func pace(_ nanoseconds: UInt64) -> ClaimPace {
        var pace = ClaimPace()
        pace.typicalNanoseconds = nanoseconds
        return pace
    }

    @Test(arguments: [
        (nanoseconds: 1_000_000 as UInt64, ready: 1_000, cores: 2, size: 1),
        (4_000, 1_000, 2, 1), (3_999, 1_000, 2, 16), (999, 10, 2, 5), (999, 4, 2, 4),
        (999, 1_000, 2, 32), (99, 1, 4, 32), (999, 20, 4, 5),
    ])
    func shortWorkIsClaimedTogether(
        nanoseconds: UInt64, ready: Int, cores: Int, size: Int
    ) {
        #expect(pace(nanoseconds).claimSize(of: ready, cores: cores, most: .max) == size)
        #expect(pace(nanoseconds).claimSize(of: ready, cores: cores, most: 3) == min(3, size))
    }

    @Test func theFirstClaimTakesOneEntry() {
        #expect(!ClaimPace().isQuick && ClaimPace().claimSize(of: 99, cores: 1, most: 9) == 1)
    }

    @Test func theTimeFallsSlowlyAndRisesAtOnce() {
        var pace = pace(1_000)
        pace.learn(1, nanoseconds: 800, suspends: false)
        #expect(pace.typicalNanoseconds == 900)
        pace.learn(10, nanoseconds: 50_000, suspends: false)
        #expect(pace.typicalNanoseconds == 5_000 && !pace.isQuick)
        // Much shorter than before: it falls faster.
        pace.learn(10, nanoseconds: 100, suspends: false)
        #expect(pace.typicalNanoseconds == 626)
        pace.forget()
        #expect(!pace.isQuick)
    }

    @Test func aClaimThatRanNothingSaysNothing() {
        var pace = pace(10)
        pace.learn(0, nanoseconds: 1_000_000, suspends: true)
        #expect(pace.typicalNanoseconds == 10 && !pace.bodiesSuspend)
    }
}
