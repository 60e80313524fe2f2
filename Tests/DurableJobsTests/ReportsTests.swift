#if DurableJobs
import Operations
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobs

struct ReportsTests {
    private static let done = AttemptVerdict.completed(result: Data())

    private static func record(_ number: Int64, begunAt time: Duration? = nil) -> AttemptRecord {
        let record = AttemptRecord(WorkerStateTests.job(number), generation: 0)
        if let time { _ = record.begin(at: time) }
        return record
    }

    private static func take(_ reports: inout Reports) -> (Exchange, [Reports.Ended]) {
        var exchange = Exchange(worker: "w", queue: "q")
        let group = reports.take(into: &exchange)
        return (exchange, group)
    }

    @Test func anEndWaitsAsLongAsItsAttemptTook() {
        var reports = Reports()
        #expect(reports.isEmpty && reports.next == nil)
        let record = Self.record(0, begunAt: .milliseconds(80))
        #expect(reports.add(record, Self.done, now: .milliseconds(100)) == true)
        #expect(reports.next == .milliseconds(120))
        #expect(!reports.isDue(now: .milliseconds(119), isLast: false))
        #expect(reports.isDue(now: .milliseconds(119), isLast: true))
        #expect(reports.isDue(now: .milliseconds(120), isLast: false))
        // A longer one does not change that, and a shorter one does.
        let long = Self.record(1, begunAt: .zero)
        #expect(reports.add(long, Self.done, now: .milliseconds(101)) == false)
        #expect(reports.add(Self.record(2), .notBegun, now: .milliseconds(102)) == true)
        #expect(reports.next == .milliseconds(107))
        let (exchange, group) = Self.take(&reports)
        #expect(group.count == 3 && exchange.ended.count == 3 && reports.count == 0)
    }

    @Test func aJobThatIsHandedBackIsReportedAtOnce() {
        var reports = Reports()
        _ = reports.add(Self.record(0, begunAt: .zero), Self.done, now: .seconds(1))
        reports.handBack(Self.record(1), .notBegun, now: .seconds(1))
        #expect(reports.isDue(now: .seconds(1), isLast: false))
    }

    @Test func aGroupHasALimit() {
        var reports = Reports()
        var wasFull: [Bool] = []
        for number in 0...Int64(Reports.groupLimit) {
            wasFull.append(reports.add(Self.record(number), Self.done, now: .zero))
        }
        #expect(wasFull[Reports.groupLimit - 1] && !wasFull[Reports.groupLimit - 2])
        #expect(reports.isDue(now: .zero, isLast: false))
        let first = Self.take(&reports).1
        #expect(first.count == Reports.groupLimit && reports.count == 1)
        #expect(!reports.isDue(now: .zero, isLast: false))
    }

    @Test func endsWithoutAnAnswerComeFirstAndMayBeCommitted() {
        var reports = Reports()
        _ = reports.add(Self.record(0), Self.done, now: .zero)
        reports.add(published: [JobID(9)], now: .zero)
        let (exchange, group) = Self.take(&reports)
        _ = reports.add(Self.record(1), Self.done, now: .zero)
        reports.unanswered(exchange, group)
        let (again, ends) = Self.take(&reports)
        #expect(ends.map(\.record.job.token.job) == [JobID(0), JobID(1)])
        #expect(ends.map(\.mayBeCommitted) == [true, false])
        #expect(again.published == [JobID(9)])
    }

    @Test func anEndThatMeetsALockIsLeftAloneForAWhile() {
        var reports = Reports()
        _ = reports.add(Self.record(0), Self.done, now: .zero)
        let (exchange, group) = Self.take(&reports)
        reports.refused(exchange, group, .locked, givesUp: false, now: .seconds(1))
        #expect(reports.isEmpty && reports.count == 1)
        let later = Duration.seconds(1) + Reports.holdTime
        #expect(reports.next == later)
        reports.timePassed(now: later)
        #expect(reports.isDue(now: later, isLast: false) && reports.count == 1)
    }

    @Test func aWorkerThatStopsLeavesARefusedEndToOthers() {
        var reports = Reports()
        _ = reports.add(Self.record(0), Self.done, now: .zero)
        let (exchange, group) = Self.take(&reports)
        reports.refused(exchange, group, .locked, givesUp: true, now: .zero)
        #expect(reports.count == 0)
    }

    @Test func aRefusedGroupIsHalvedAndGrowsAgain() {
        var reports = Reports()
        for number in 0..<8 { _ = reports.add(Self.record(Int64(number)), Self.done, now: .zero) }
        let (exchange, group) = Self.take(&reports)
        reports.refused(exchange, group, .value, givesUp: false, now: .zero)
        let halves = (Self.take(&reports).1, Self.take(&reports).1)
        #expect(halves.0.count == 4 && halves.1.count == 4 && reports.count == 0)
        reports.committed()
        for number in 0..<9 { _ = reports.add(Self.record(Int64(number)), Self.done, now: .zero) }
        let grown = Self.take(&reports).1
        #expect(grown.count == 8)
    }

    @Test func nothingIsLeftAfterTheLease() {
        var reports = Reports()
        _ = reports.add(Self.record(0), Self.done, now: .zero)
        let (exchange, group) = Self.take(&reports)
        reports.refused(exchange, group, .locked, givesUp: false, now: .zero)
        _ = reports.add(Self.record(1), Self.done, now: .zero)
        reports.add(published: [JobID(9)], now: .zero)
        let left = reports.removeAll()
        #expect(left.count == 2)
        #expect(reports.count == 0 && reports.isEmpty && reports.next == nil)
    }
}
#endif
