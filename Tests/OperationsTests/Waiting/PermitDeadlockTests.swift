import OperationsTestSupport
import Testing

@testable import Operations

/// A wait that would never end because of permits of budgets, keys or the capacity of a queue stops
/// the program; one that may end does not.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct PermitDeadlockTests {
    private typealias Make = DeadlockTests.Make

    @Test func waitForOperationNeedingHeldPermitsTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let licenses = ConcurrencyBudget(3, name: "licenses")
            let (net, disk) = (Make.queue("net"), Make.queue("disk"))
            let link = Make.operation("link") {}
            link.apply(.cost(2, of: licenses))
            net.add("build", .cost(2, of: licenses)) {
                disk.addOperation(link)
                link.waitUntilFinished()
            }
            await net.drain()
        }
        expect(
            result,
            says:
                "'build' is executing on queue 'net', and waits for 'link'; 'link' waits for 2 of "
                + "'licenses', 1 is free, and 'build' holds what it needs; so none of them would ever "
                + "finish: give 'licenses' more permits, or remove this wait")
    }

    @Test func waitForOperationQueuedBehindPermitHoldersTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let licenses = ConcurrencyBudget(2, name: "licenses")
            let (net, disk) = (Make.queue("net"), Make.queue("disk"))
            let (large, small) = (Make.operation("large") {}, Make.operation("small") {})
            large.apply(.cost(2, of: licenses))
            small.apply(.cost(1, of: licenses))
            let (began, proceed) = (Signal(), Signal())
            for _ in 0..<2 {
                net.add("build", .cost(1, of: licenses)) {
                    began.send()
                    proceed.wait()
                    await small.waitUntilFinished()
                }
            }
            for _ in 0..<2 { #expect(await began.arrives()) }
            disk.addOperation(large)
            #expect(await comesTrue { !large.isReady })
            disk.addOperation(small)
            #expect(await comesTrue { !small.isReady })
            // Only one of the two waits. If both waited, 'small' could also be explained by the
            // permits that both hold.
            proceed.send()
            await net.drain()
        }
        expect(result, says: "waits for 'small'; ")
        expect(result, says: "and 1 other is before it, 'large' first")
        expect(result, says: "so none of them would ever finish")
    }

    @Test func waitForOperationWithHeldKeyTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net")
            queue.add("outer", .exclusive(by: "cache")) {
                try await queue.add("inner", .exclusive(by: "cache")) {}.value
            }
            await queue.drain()
        }
        expect(
            result,
            says: "'inner' waits for its turn: 1 at a time with the key 'cache', and 'outer' "
                + "holds what it needs")
        expect(result, says: "wait outside of what has that key, or remove this wait")
    }

    @Test func waitForCapacityOfOwnQueueTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net")
            queue.add("crawl") { _ = try await queue.add(capacity: 1) {} }
            await queue.drain()
        }
        expect(
            result,
            says:
                "waits for fewer than 1 operations in its own queue 'net', where no fewer than that "
                + "wait for this, itself included, and would never finish: let the operations of queue "
                + "'net' add to another queue, or remove this wait")
    }

    /// The other operations cannot start while the waiting operation holds the slot.
    @Test func capacityWaitWhileHoldingOnlySlotTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net", width: 1)
            queue.add("crawl") {
                for _ in 0..<4 { _ = try await queue.add(capacity: 3) {} }
            }
            await queue.drain()
        }
        expect(result, says: "waits for fewer than 3 operations in its own queue 'net'")
    }

    /// Blocks for which no operation was made count too.
    @Test func capacityWaitBehindBlocksTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net", width: 1)
            queue.add("crawl") {
                for _ in 0..<2 { queue.addOperation {} }
                _ = try await queue.add(capacity: 3) {}
            }
            await queue.drain()
        }
        expect(result, says: "waits for fewer than 3 operations in its own queue 'net'")
    }

    @Test func mutualCapacityWaitsTrap() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (net, disk) = (Make.queue("net"), Make.queue("disk"))
            let (began, proceed) = (Signal(), Signal())
            net.add("download") {
                began.send()
                proceed.wait()
                _ = try await disk.add(capacity: 1) {}
            }
            disk.add("write") {
                began.send()
                proceed.wait()
                _ = try await net.add(capacity: 1) {}
            }
            for _ in 0..<2 { #expect(await began.arrives()) }
            for _ in 0..<2 { proceed.send() }
            await net.drain()
        }
        expect(result, says: "waits for fewer than 1 operations in queue '")
        expect(result, says: "so none of them would ever finish: let the operations of queue '")
    }

    /// Each of these waits ends: another operation returns its permits, the queue gains capacity,
    /// or a deadline passes.
    @Test func waitsForAvailablePermitsAndCapacityEnd() async throws {
        let licenses = ConcurrencyBudget(2, name: "licenses")
        let (net, disk) = (Make.queue("net"), Make.queue("disk", width: 2))
        let (began, proceed) = (Signal(), Signal())
        disk.add(.cost(1, of: licenses)) {
            began.send()
            proceed.wait()
        }
        #expect(await began.arrives())
        let inner = Make.operation("inner") {}
        inner.apply(.cost(1, of: licenses))
        let outer = net.add(.cost(1, of: licenses)) {
            net.addOperation(inner)
            began.send()
            await inner.waitUntilFinished()
        }
        #expect(await began.arrives())
        proceed.send()
        await outer.waitUntilFinished()

        let crawl = disk.add {
            for _ in 0..<50 { _ = try await disk.add(capacity: 2) { await Task.yield() } }
            for _ in 0..<50 { _ = try await net.add(capacity: 1) { await Task.yield() } }
        }
        try await crawl.value
        let late = net.add(.timeout(.milliseconds(20))) { _ = try await net.add(capacity: 1) {} }
        await late.waitUntilFinished()
        #expect(late.error is OperationTimeout)

        let narrow = Make.queue("narrow", width: 1)
        let first = narrow.add {
            let second = narrow.add(.deadline(in: .milliseconds(20))) {}
            await second.waitUntilFinished()
        }
        await first.waitUntilFinished()
        #expect(!first.isCancelled)
    }
}
