import Testing

@testable import OperationsRuntime

/// The conclusions of the monitor thread from the workers that it looks at.
struct WorkerWatchTests {
    private static let pause: UInt64 = 5_000_000

    /// Samples that are a pause apart; each gives the processor time of the workers.
    private func asleep(
        cores: Int = 2, _ looks: [[UInt64]], isSleeping: @escaping @Sendable (Int) -> Bool?
    ) -> [Int] {
        var watch = WorkerWatch(from: 0)
        return looks.enumerated().map { number, times in
            let samples = times.enumerated().map { worker, time in
                WorkerWatch.Sample(
                    id: WorkerID(number: worker), processorTime: time,
                    isSleeping: { isSleeping(worker) }, position: nil)
            }
            let now = UInt64(number + 1) * Self.pause
            return watch.update(with: samples, now: now, cores: cores).asleep
        }
    }

    private let full = Self.pause

    @Test func sleepingWorkerWithoutProcessorTimeIsAsleep() {
        let counts = asleep([[0, 0], [100_000, full], [200_000, 2 * full]]) { _ in true }
        #expect(counts == [0, 1, 1])
    }

    @Test func workerThatWaitsForAProcessorIsNotAsleep() {
        #expect(asleep([[0, 0], [0, 0], [0, 0]]) { $0 == 0 } == [0, 1, 1])
    }

    @Test func withoutSleepStateIdleWorkersAreAsleep() {
        let looks: [[UInt64]] = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 1_000], [0, 1_000]]
        #expect(asleep(looks) { _ in nil } == [0, 0, 2, 2, 1, 1])
    }

    @Test func withoutSleepStateBusyProcessorsGetNoMoreWork() {
        // Two workers compute on two processors, and a third may sleep or wait for a processor.
        let busy = (0..<5).map { [UInt64($0) * full, UInt64($0) * full, 0] }
        #expect(asleep(busy) { _ in nil } == [0, 0, 0, 0, 0])
        // As soon as one has ended, a processor is free.
        let free = busy.prefix(3) + (3..<6).map { [UInt64($0) * full, 2 * full, 0] }
        #expect(asleep(Array(free)) { _ in nil } == [0, 0, 0, 1, 2, 2])
        // A worker that was asleep stays so when others use the processors again.
        let again: [[UInt64]] = [
            [0, 0, 0], [0, full, 0], [0, 2 * full, 0], [full, 3 * full, 0],
            [2 * full, 4 * full, 0],
        ]
        #expect(asleep(again) { _ in nil } == [0, 0, 2, 1, 1])
    }

    @Test func reusedThreadNumberIsIgnored() {
        #expect(asleep([[900], [0], [0]]) { _ in true } == [0, 0, 1])
    }

    @Test func unmovedClaimIsStuck() {
        var watch = WorkerWatch(from: 0)
        func look(_ position: Int?, _ now: UInt64) -> (Bool, Bool) {
            let sample = WorkerWatch.Sample(
                id: WorkerID(number: 3), processorTime: nil, isSleeping: { nil },
                position: position)
            let seen = watch.update(with: [sample], now: now, cores: 2)
            return (seen.hasClaims, !seen.stuck.isEmpty)
        }
        #expect(look(1, 1) == (true, false))
        #expect(look(2, 2) == (true, false))
        #expect(look(2, 3) == (true, true))
        #expect(look(nil, 4) == (false, false))
        #expect(look(2, 5) == (true, false))
    }
}

struct ExhaustionWatchTests {
    @Test func reportsOnceUntilSomeThreadGoesOn() {
        var watch = ExhaustionWatch()
        let second = ExhaustionWatch.patience
        let checks = [
            (true, 5), (true, second), (true, second + 5), (true, 3 * second), (false, 3 * second),
            (true, 4 * second), (true, 5 * second),
        ]
        let reports = checks.map { watch.update(isExhausted: $0, now: $1) }
        #expect(reports == [false, false, true, false, false, false, true])
    }
}
