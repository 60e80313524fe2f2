import OperationsTestSupport
import Testing

@testable import OperationsRuntime

struct HeapTests {
    @Test func elementsComeInTheOrderOfTheirMomentsAndThenOfTheirComing() {
        var heap = Heap<UInt64, String>()
        _ = heap.insert("c", at: 30)
        _ = heap.insert("a", at: 10)
        _ = heap.insert("b1", at: 20)
        _ = heap.insert("b2", at: 20)
        #expect(heap.firstKey == 10)
        var taken: [String] = []
        while let element = heap.removeFirst(upTo: 20) { taken.append(element) }
        #expect(taken == ["a", "b1", "b2"])
        #expect(heap.firstKey == 30)
        let last = heap.removeFirst(upTo: 30)
        #expect(last == "c" && heap.firstKey == nil)
    }

    @Test func whatWasTakenOutIsNotFoundAgainThoughItsPlaceIsUsedAgain() {
        var heap = Heap<UInt64, Int>()
        let first = heap.insert(1, at: 10)
        let removed = heap.remove(first)
        #expect(removed == 1)
        let second = heap.insert(2, at: 10)
        let again = heap.remove(first)
        #expect(again == nil && first != second)
        let due = heap.removeFirst(upTo: 10)
        #expect(due == 2)
        let late = heap.remove(second)
        #expect(late == nil && heap.firstKey == nil)
    }

    /// Against a list that is sorted anew each time.
    @Test(arguments: seeds(1, 2)) func randomChangesLeaveItInOrder(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        func below(_ end: Int) -> Int { Int(random.next() % UInt64(end)) }
        var heap = Heap<UInt64, Int>()
        var model: [(moment: UInt64, number: Int, ticket: Heap<UInt64, Int>.Ticket)] = []
        for number in 0..<4_000 {
            switch below(5) {
            case 0 where !model.isEmpty:
                let gone = model.remove(at: below(model.count))
                let removed = heap.remove(gone.ticket)
                #expect(removed == gone.number, "seed \(seed)")
            case 1:
                let now = UInt64(below(1_000))
                let due = model.filter { $0.moment <= now }.min {
                    ($0.moment, $0.number) < ($1.moment, $1.number)
                }
                let removed = heap.removeFirst(upTo: now)
                #expect(removed == due?.number, "seed \(seed)")
                model.removeAll { $0.number == due?.number }
            default:
                if model.count > 100 { continue }
                let moment = UInt64(below(1_000))
                model.append((moment, number, heap.insert(number, at: moment)))
            }
            #expect(heap.firstKey == model.map(\.moment).min())
            let limit = UInt64(below(1_000))
            #expect(heap.count(below: limit) == model.count { $0.moment < limit }, "seed \(seed)")
        }
        var rest = 0
        while heap.removeFirst(upTo: .max) != nil { rest += 1 }
        #expect(rest == model.count, "seed \(seed)")
    }
}

struct TimerListTests {
    @Test func theMonitorThreadIsWokenOnlyForTimersBeforeItsNextVisit() {
        var list = TimerList<Int>()
        #expect(list.nextVisit(after: 0) == nil)
        #expect(list.add(1, at: 1_000, now: 0).callsMonitor)
        #expect(!list.add(2, at: 2_000, now: 0).callsMonitor)
        #expect(!list.add(3, at: 1_000, now: 0).callsMonitor, "he was called for this moment")
        #expect(list.add(4, at: 500, now: 0).callsMonitor)
        #expect(list.nextVisit(after: 0) == 500)
        #expect(list.takeDue(at: 1_000) == [4, 1, 3])
        #expect(list.nextVisit(after: 1_000) == 2_000)
    }

    @Test func whatWasCancelledIsNotDueAndCallsNobody() {
        var list = TimerList<Int>()
        let (ticket, _) = list.add(1, at: 1_000, now: 0)
        #expect(list.nextVisit(after: 0) == 1_000)
        #expect(list.remove(ticket) == 1)
        #expect(!list.add(2, at: 5_000, now: 0).callsMonitor, "he comes at 1000 all the same")
        #expect(list.takeDue(at: 1_000) == [])
        #expect(list.nextVisit(after: 1_000) == 5_000)
    }

    @Test func theMonitorThreadVisitsNowAndThenForTimersFarAhead() {
        var list = TimerList<Int>()
        let pause = TimerList<Int>.longestPause
        _ = list.add(1, at: .max, now: 0)
        #expect(list.nextVisit(after: 7) == pause + 7)
        #expect(!list.add(2, at: pause + 8, now: 7).callsMonitor)
        #expect(list.takeDue(at: pause + 7) == [])
        #expect(list.nextVisit(after: pause + 7) == pause + 8)
    }

    /// The machine slept: that time counts, but the monitor thread has not slept any longer by its
    /// clock.
    @Test func monitorThreadThatOversleepsIsWoken() {
        var list = TimerList<Int>()
        _ = list.add(1, at: 1_000, now: 0)
        #expect(list.nextVisit(after: 0) == 1_000)
        let late: UInt64 = 3_600_000_000_000
        #expect(list.add(2, at: late + 1_000, now: late).callsMonitor)
        #expect(!list.add(3, at: late + 2_000, now: late).callsMonitor, "once is enough")
    }

    @Test func manyAreTakenInParts() {
        var list = TimerList<Int>()
        for number in 0..<1_000 { _ = list.add(number, at: 5, now: 0) }
        var taken: [Int] = []
        var parts = 0
        while case let part = list.takeDue(at: 5), !part.isEmpty {
            taken += part
            parts += 1
        }
        #expect(taken == Array(0..<1_000) && parts > 10)
    }
}

@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct PoolTimerTests {
    private final class DeinitProbe: Sendable {
        let end: @Sendable () -> Void
        init(_ end: @escaping @Sendable () -> Void) { self.end = end }
        deinit { end() }
    }

    @Test func actionIsCalledOnceOnAWorker() async {
        let called = Signal()
        let count = Tally()
        let isOnWorker = Locked(false)
        let timer = WorkerPool.schedule(after: .milliseconds(1)) {
            isOnWorker.withLock { $0 = ThreadContext.existing?.activeWorker != nil }
            count.increment()
            called.send()
        }
        #expect(await called.arrives())
        timer.cancel()
        #expect(count.value == 1 && isOnWorker.withLock { $0 })
    }

    @Test func cancelledActionIsReleasedAtOnceAndNeverCalled() {
        let released = Tally()
        let count = Tally()
        func timer() -> PoolTimer {
            let probe = DeinitProbe { released.increment() }
            return WorkerPool.schedule(after: .seconds(3600)) {
                withExtendedLifetime(probe) { _ = count.increment() }
            }
        }
        let first = timer()
        #expect(released.value == 0)
        first.cancel()
        #expect(released.value == 1)
        first.cancel()
        #expect(count.value == 0)
    }

    @Test func latenessCountsFromWhenTheTimerWasDue() {
        let late = Locked<[UInt64]>([])
        let keeper = Timekeeper()
        func timer(dueBefore nanoseconds: UInt64) -> PoolTimer {
            let (timer, now) = (PoolTimer({}, of: keeper), continuousNanoseconds())
            _ = keeper.add(timer, at: now - nanoseconds, now: now)
            return timer
        }
        // Nobody wants to know.
        timer(dueBefore: 7).fire()
        keeper.latenessHandler = { nanoseconds in late.withLock { $0.append(nanoseconds) } }
        let start = continuousNanoseconds()
        timer(dueBefore: 1_000_000_000).fire()
        let most = 1_000_000_000 + continuousNanoseconds() - start
        let cancelled = timer(dueBefore: 5)
        cancelled.cancel()
        cancelled.fire()
        // One that is called at once is not late.
        PoolTimer({}, of: keeper).fire()
        let seen = late.withLock { $0 }
        #expect(seen.count == 1)
        #expect(seen.allSatisfy { (1_000_000_000...most).contains($0) })
    }

    /// In any order; those that are cancelled do not come, all others do.
    @Test(arguments: seeds(1)) func hundredThousandTimersComeOrAreCancelled(seed: UInt64) async {
        var random = SplitMix64(seed: seed)
        let count = 100_000
        let released = Tally()
        let late = Locked(0)
        let called = Tally()
        let timers = (0..<count).map { number -> PoolTimer in
            let probe = DeinitProbe { released.increment() }
            let isKept = number % 2 == 0
            let span = Duration.nanoseconds(
                (isKept ? 0 : 3_600_000_000_000) + Int64(random.next() % 200_000_000))
            let due = continuousNanoseconds() + span.wholeNanoseconds
            return WorkerPool.schedule(after: span) {
                withExtendedLifetime(probe) {}
                if continuousNanoseconds() < due || !isKept { late.withLock { $0 += 1 } }
                called.increment()
            }
        }
        for (number, timer) in timers.enumerated() where number % 2 == 1 { timer.cancel() }
        #expect(await comesTrue { called.value == count / 2 }, "seed \(seed)")
        #expect(await comesTrue { released.value == count }, "seed \(seed)")
        #expect(late.withLock { $0 } == 0, "seed \(seed)")
    }

    /// Threads that add and cancel race with the monitor thread.
    @Test func eachTimerIsCalledOrCancelled() async {
        let called = Tally()
        let released = Tally()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    await onThread {
                        for round in 0..<5_000 {
                            let probe = DeinitProbe { released.increment() }
                            let timer = WorkerPool.schedule(
                                after: .nanoseconds(round % 7 * 10_000)
                            ) {
                                withExtendedLifetime(probe) { _ = called.increment() }
                            }
                            if round % 3 == 0 { timer.cancel() }
                        }
                    }
                }
            }
        }
        #expect(await comesTrue { released.value == 20_000 })
        #expect(called.value >= 13_332 && called.value <= 20_000)
    }
}
