import OperationsTestSupport
import Testing

@testable import Operations

/// Numbers and times that no program intends but input data may contain.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ExtremeValueTests {
    private final class Odd: Operation, @unchecked Sendable {
        let priority: Double
        let runs = Tally()
        init(_ priority: Double) { self.priority = priority }
        override var threadPriority: Double {
            get { priority }
            set {}
        }
        override func main() { runs.increment() }
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300, -7, 7])
    func anyThreadPriorityIsClampedToItsRange(_ value: Double) async {
        let operation = BlockOperation {}
        operation.threadPriority = value
        #expect(operation.threadPriority == (value.isNaN ? 0.5 : value > 0.5 ? 1 : 0))
        let queue = OperationQueue()
        // Skip the low priorities: the process may not be allowed to lower a niceness again.
        if !(value < 0.5) {
            let odd = Odd(value)
            await queue.addOperations([operation, odd], waitUntilFinished: false)
            await queue.drain()
            #expect(odd.runs.value == 1)
        }
        #expect((-20...19).contains(Operation.niceness(for: value)))
    }

    @Test func sumOfCostsSaturatesAtTheLargestInteger() async throws {
        let queue = suspendedQueue()
        let budget = ConcurrencyBudget(.max, name: "bytes")
        queue.add("all", .cost(.max, of: budget)) {}
        let two = TypedOperation {}
        two.apply(.cost(.max, of: budget), .cost(.max, of: budget))
        // Together the two costs count as the whole budget.
        queue.addOperation(two)
        let one = queue.add("one", .cost(1, of: budget)) { budget.inUse }
        queue.isSuspended = false
        #expect(try await one.value == 1)
        await queue.drain()
        #expect(budget.inUse == 0)
    }

    @Test(arguments: [
        Duration.seconds(Int64.max), Duration(attoseconds: .max), Duration(attoseconds: .min),
    ])
    func anyDurationIsAccepted(_ time: Duration) async throws {
        let queue = OperationQueue()
        let done = queue.add(
            .timeout(time), .retry(1, backoff: .exponential(from: time, factor: 1e300, max: time))
        ) { 1 }
        if time > .zero {
            #expect(try await done.value == 1)
            let delayed = queue.add(.delay(time), .deadline(in: time)) { 1 }
            #expect(await done.finished(within: time))
            let attempts = Tally()
            let failing = queue.add(.retry(1, backoff: .constant(time))) {
                attempts.increment()
                throw Broken()
            }
            let periodic = queue.add(.every(time)) {}
            #expect(await comesTrue { attempts.value == 1 })
            for operation in [failing, periodic] { operation.cancel() }
            delayed.cancel()
        }
        await queue.drain()
    }

    @Test func anyNumberOfRetriesIsExplained() async {
        await #expect(processExitsWith: .success) {
            let clock = ManualClock()
            let queue = OperationQueue(clock)
            for (retries, limit) in [(1, " of 2"), (.max, "")] {
                let failing = queue.add(
                    "poll", .retry(retries, backoff: .constant(.seconds(5)))
                ) { throw NoConnection() }
                // The clock may still have the sleeper of the operation before.
                let words = "'poll' waits 5.0 s before attempt 2\(limit): no connection."
                #expect(await comesTrue { failing.explain().description == words })
                failing.cancel()
                await queue.drain()
            }
        }
    }

    @Test func periodOfAnAttosecondRunsRepeatedly() async {
        let queue = OperationQueue()
        let runs = Tally()
        let periodic = queue.add(.every(Duration(attoseconds: 1))) { runs.increment() }
        #expect(await comesTrue { runs.value >= 3 })
        periodic.cancel()
        await queue.drain()
    }

    @Test func ticksAreWholePeriodsAfterTheFirst() {
        let first = Duration.seconds(10)
        let tick = OperationOptions.tick(after: .seconds(25), from: first, every: .seconds(4))
        #expect(tick == .seconds(26))
        #expect(
            OperationOptions.tick(after: .seconds(26), from: first, every: .seconds(4))
                == .seconds(30))
        let tiny = Duration(attoseconds: 1)
        #expect(
            OperationOptions.tick(after: .seconds(1_000_000), from: .zero, every: tiny)
                == .seconds(1_000_000) + tiny)
    }
}

private struct Broken: Error {}
