#if DurableJobs
import Operations
import Testing

@testable import DurableJobs

struct MaintenanceScheduleTests {
    @Test func rescuesComeThreeTimesInALease() {
        var schedule = MaintenanceSchedule(lease: .seconds(15), now: .seconds(100))
        let times = (100..<120).filter { schedule.takesRescue(now: .seconds($0)) }
        #expect(times == [100, 105, 110, 115])
        #expect(schedule.pause == .seconds(1))
        #expect(MaintenanceSchedule(lease: .seconds(1.5), now: .zero).pause == .milliseconds(500))
    }

    @Test func refreshesComeOnceASecond() {
        var schedule = MaintenanceSchedule(lease: .seconds(15), now: .zero)
        let times = (0..<30).filter { schedule.takesRefresh(now: .milliseconds($0 * 100)) }
        #expect(times == [10, 20])
    }

    @Test func historyIsMovedUntilNothingIsLeftAndThenAMinuteLater() {
        var schedule = MaintenanceSchedule(lease: .seconds(15), now: .zero)
        #expect(!schedule.takesPruning(now: .seconds(29)))
        #expect(schedule.takesPruning(now: .seconds(30)))
        #expect(schedule.takesPruning(now: .seconds(31)))
        schedule.pruned(now: .seconds(31))
        #expect(!schedule.takesPruning(now: .seconds(90)))
        #expect(schedule.takesPruning(now: .seconds(91)))
        // Four leases, if those are shorter.
        var fast = MaintenanceSchedule(lease: .seconds(1), now: .zero)
        #expect(!fast.takesPruning(now: .seconds(1)))
        #expect(fast.takesPruning(now: .seconds(2)))
        fast.pruned(now: .seconds(3))
        #expect(!fast.takesPruning(now: .seconds(6)))
        #expect(fast.takesPruning(now: .seconds(7)))
    }
}
#endif
