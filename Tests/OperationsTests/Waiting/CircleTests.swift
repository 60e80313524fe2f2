import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

/// The reports of circles in which not only dependencies hold operations back. The whole
/// process has one handler of reports, so these tests run in processes of their own.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct CircleTests {
    private struct Report: Equatable {
        let names: [String]
        let reasons: String?
    }

    private static func recordReports() -> TestRecorder<Report> {
        endSoon(EXIT_FAILURE)
        let reports = TestRecorder<Report>()
        OperationsDiagnostics.handler = { finding in
            switch finding {
            case .dependencyCycle(let names): reports.record(Report(names: names, reasons: nil))
            case .circularWait(let names, let reasons):
                reports.record(Report(names: names, reasons: reasons))
            default: break
            }
        }
        return reports
    }

    /// Closes a cycle in a queue, and waits for its report: after that, the watch has looked at
    /// everything that was there before.
    private static func waitForLook(_ reports: TestRecorder<Report>) async {
        let queue = OperationQueue()
        let (a, b) = (named("look"), named("look too"))
        a.addDependency(b)
        b.addDependency(a)
        await queue.addOperations([a, b], waitUntilFinished: false)
        #expect(await comesTrue { reports.events.contains { $0.names.contains("'look'") } })
        a.cancel()
        await queue.drain()
    }

    private static func isReported(
        _ names: Set<String>, in reports: TestRecorder<Report>
    ) async -> Bool {
        await comesTrue {
            reports.events.contains { $0.reasons != nil && Set($0.names) == names }
        }
    }

    @Test func circleThroughBarrierIsReported() async {
        await #expect(processExitsWith: .success) {
            let reports = Self.recordReports()
            let queue = OperationQueue(name: "mail", width: 4)
            let (x, y) = (named("x"), named("y"))
            x.addDependency(y)
            queue.addOperation(x)
            queue.addBarrierBlock {}
            queue.addOperation(y)
            #expect(await Self.isReported(["'x'", "'y'"], in: reports))
            let reasons = reports.events.first?.reasons
            #expect(reasons?.contains("'x' waits for 'y'") == true)
            #expect(
                reasons?.contains(
                    "'y' is ready, but a barrier of queue 'mail' lets it start only after 'x'")
                    == true)
            x.cancel()
            await queue.drain()
        }
    }

    /// The operations between the two members wait for nothing, and are left out.
    @Test(arguments: [0, 1, 20])
    func circleThroughStrictOrderIsReported(between: Int) async {
        await #expect(processExitsWith: .success) { [between] in
            let reports = Self.recordReports()
            let queue = OperationQueue(name: "mail", width: 4)
            queue.order = .fifo
            let (x, y) = (named("x"), named("y"))
            x.addDependency(y)
            queue.addOperation(x)
            for index in 0..<between { queue.addOperation(named("\(index)")) }
            queue.addOperation(y)
            #expect(await Self.isReported(["'x'", "'y'"], in: reports))
            #expect(reports.events.first?.names.count == 3)
            x.cancel()
            await queue.drain()
        }
    }

    @Test func circleThatAnOrderClosesIsReported() async {
        await #expect(processExitsWith: .success) {
            let reports = Self.recordReports()
            let queue = suspendedQueue()
            let (x, y) = (named("x"), named("y"))
            x.addDependency(y)
            await queue.addOperations([x, y], waitUntilFinished: false)
            await Self.waitForLook(reports)
            #expect(reports.events.count == 1)
            queue.order = .fifo
            #expect(await Self.isReported(["'x'", "'y'"], in: reports))
            queue.order = .priority
            queue.isSuspended = false
            await queue.drain()
        }
    }

    /// All members are in the queue when the last edge is added.
    @Test func circleThatLateEdgeClosesIsReported() async {
        await #expect(processExitsWith: .success) {
            let reports = Self.recordReports()
            let queue = OperationQueue()
            let (gate, x, y) = (named("gate"), named("x"), named("y"))
            x.addDependency(gate)
            queue.addOperation(x)
            queue.addBarrierBlock {}
            queue.addOperation(y)
            await Self.waitForLook(reports)
            #expect(reports.events.count == 1)
            x.addDependency(y)
            #expect(await Self.isReported(["'x'", "'y'"], in: reports))
            x.removeDependency(y)
            gate.start()
            await queue.drain()
        }
    }

    @Test func circleThroughGroupThatHasNotBegunIsReported() async {
        await #expect(processExitsWith: .success) {
            let reports = Self.recordReports()
            let queue = OperationQueue()
            let (member, before) = (named("member"), named("before"))
            let group = GroupOperation("group") { member }
            before.addDependency(member)
            queue.addOperation(before)
            group.addDependency(before)
            queue.addOperation(group)
            #expect(await Self.isReported(["'member'", "'before'", "'group'"], in: reports))
            before.cancel()
            await queue.drain()
        }
    }

    /// The member gets its last dependency while the group runs.
    @Test func circleThroughGroupThatRunsIsReported() async {
        await #expect(processExitsWith: .success) {
            let reports = Self.recordReports()
            let (queue, held) = (OperationQueue(), suspendedQueue())
            let (gate, member, after) = (named("gate"), named("member"), named("after"))
            member.addDependency(gate)
            held.addOperation(gate)
            let group = GroupOperation("group") { member }
            after.addDependency(group)
            await queue.addOperations([group, after], waitUntilFinished: false)
            // A wait that could never end would stop the program at its beginning.
            #expect(await comesTrue { !BlockedWait.targets(in: group).isEmpty })
            member.addDependency(after)
            held.isSuspended = false
            #expect(await Self.isReported(["'member'", "'after'", "'group'"], in: reports))
            member.cancel()
            await queue.drain()
        }
    }

    /// An operation that needs one of several is stuck only if all of them are.
    @Test func alternativeBreaksCircleThroughBarrier() async {
        await #expect(processExitsWith: .success) {
            let reports = Self.recordReports()
            let (queue, other) = (OperationQueue(), OperationQueue())
            let gate = named("gate")
            let a = TypedOperation { 1 }
            let b = TypedOperation { () throws -> Int in throw NoConnection() }
            (a.name, b.name) = ("a", "b")
            b.addDependency(gate)
            let first = queue.add("first", firstOf: a, b)
            queue.addBarrierBlock {}
            queue.addOperation(a)
            other.addOperation(b)
            await Self.waitForLook(reports)
            #expect(reports.events.count == 1)
            gate.start()
            #expect(await Self.isReported(["'a'", "'first'"], in: reports))
            first.cancel()
            await queue.drain()
        }
    }

    /// What runs before a barrier, or starts first in a strict order, holds back only for a time.
    @Test func operationsThatGoOnAreNotReported() async {
        await #expect(processExitsWith: .success) {
            let reports = Self.recordReports()
            let (queue, strict) = (OperationQueue(), OperationQueue(name: nil, width: 1))
            strict.order = .fifo
            let (gate, proceed) = (named("gate"), Signal())
            for queue in [queue, strict] {
                let (x, y) = (named("x"), named("y"))
                x.addDependency(gate)
                queue.addOperation { proceed.wait() }
                queue.addOperation(x)
                if queue === strict { y.addDependency(x) } else { queue.addBarrierBlock {} }
                named("outside").addDependency(y)
                queue.addOperation(y)
            }
            await Self.waitForLook(reports)
            #expect(reports.events.count == 1)
            gate.start()
            for _ in 0..<2 { proceed.send() }
            await queue.drain()
            await strict.drain()
        }
    }
}
