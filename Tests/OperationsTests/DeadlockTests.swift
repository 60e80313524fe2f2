import OperationsTestSupport
import Testing

@testable import Operations

/// A wait that would never end stops the program with a message that names the operations involved.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct DeadlockTests {
    /// Makes the named operations and queues of the tests, also in the processes of exit tests.
    enum Make {
        static func operation(
            _ name: String, _ block: @escaping @Sendable () -> Void
        ) -> BlockOperation {
            let operation = BlockOperation(block: block)
            operation.name = name
            return operation
        }

        static func queue(_ name: String, width: Int = -1) -> OperationQueue {
            let queue = OperationQueue()
            queue.name = name
            queue.maxConcurrentOperationCount = width
            return queue
        }
    }

    @Test func waitForTransitiveDependentTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (net, disk) = (Make.queue("net"), Make.queue("disk"))
            let (decode, resize) = (Make.operation("decode") {}, Make.operation("resize") {})
            let download = Make.operation("download") { resize.waitUntilFinished() }
            decode.addDependency(download)
            resize.addDependency(decode)
            await disk.addOperations([decode, resize], waitUntilFinished: false)
            net.addOperation(download)
            await net.drain()
        }
        expect(
            result,
            says: "'download' (executing on queue 'net') waits for 'resize', 'resize' depends on "
                + "'decode', and 'decode' depends on 'download', so none of them would ever finish: "
                + "remove this wait, or let what comes after it be an operation that depends on "
                + "'resize'")
    }

    @Test func operationsWaitingForEachOtherTrap() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            final class Waiting: Operation, @unchecked Sendable {
                nonisolated(unsafe) weak var other: Operation?
                let proceed: Signal
                init(_ name: String, _ proceed: Signal) {
                    self.proceed = proceed
                    super.init()
                    self.name = name
                }
                override func main() {
                    proceed.wait()
                    other?.waitUntilFinished()
                }
            }
            let proceed = Signal()
            let queue = Make.queue("net")
            let (a, b) = (Waiting("a", proceed), Waiting("b", proceed))
            (a.other, b.other) = (b, a)
            await queue.addOperations([a, b], waitUntilFinished: false)
            proceed.send()
            proceed.send()
            await queue.drain()
        }
        expect(result, says: "(executing on queue 'net') waits for '")
        expect(result, says: "so none of them would ever finish: remove this wait")
    }

    @Test func waitForOperationHeldBackByFIFOOrderTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (net, mail) = (Make.queue("net"), Make.queue("mail"))
            mail.order = .fifo
            let (first, second) = (Make.operation("first") {}, Make.operation("second") {})
            let download = Make.operation("download") { second.waitUntilFinished() }
            first.addDependency(download)
            await mail.addOperations([first, second], waitUntilFinished: false)
            net.addOperation(download)
            await net.drain()
        }
        expect(
            result,
            says:
                "'download' (executing on queue 'net') waits for 'second', 'second' cannot start before "
                + "'first', because queue 'mail' is strictly first in, first out, and 'first' depends on "
                + "'download', so none of them would ever finish")
    }

    @Test func waitForOperationBehindInSerialQueueTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net", width: 1)
            let second = Make.operation("second") {}
            let first = Make.operation("first") { second.waitUntilFinished() }
            await queue.addOperations([first, second], waitUntilFinished: false)
            await queue.drain()
        }
        expect(
            result,
            says:
                "'first' (executing on queue 'net') waits for 'second', and 'second' cannot start "
                + "while 'first' holds the only slot of queue 'net', so none of them would ever "
                + "finish: add 'second' to another queue, or give queue 'net' a larger "
                + "maxConcurrentOperationCount, or remove this wait")
    }

    // MARK: Permits and capacity

    @Test func waitForOperationNeedingHeldPermitsTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let licences = ConcurrencyBudget(3, name: "licences")
            let (net, disk) = (Make.queue("net"), Make.queue("disk"))
            let link = Make.operation("link") {}
            link.apply(.cost(2, of: licences))
            net.add("build", .cost(2, of: licences)) {
                disk.addOperation(link)
                link.waitUntilFinished()
            }
            await net.drain()
        }
        expect(
            result,
            says:
                "'build' (executing on queue 'net') waits for 'link', and 'link' cannot start while "
                + "'build' holds what it needs of 'licences', so none of them would ever finish: give "
                + "'licences' more permits, or remove this wait")
    }

    @Test func waitForOperationQueuedBehindPermitHoldersTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let licences = ConcurrencyBudget(2, name: "licences")
            let (net, disk) = (Make.queue("net"), Make.queue("disk"))
            let (large, small) = (Make.operation("large") {}, Make.operation("small") {})
            large.apply(.cost(2, of: licences))
            small.apply(.cost(1, of: licences))
            let (began, proceed) = (Signal(), Signal())
            for _ in 0..<2 {
                net.add("build", .cost(1, of: licences)) {
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
            for _ in 0..<2 { proceed.send() }
            await net.drain()
        }
        expect(result, says: "waits for 'small', ")
        expect(result, says: "cannot start while 'build'")
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
        expect(result, says: "waits for 'inner', and 'inner' cannot start while 'outer' holds")
        expect(result, says: "wait outside of what has that key, or remove this wait")
    }

    @Test func waitForCapacityOfOwnQueueTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net")
            queue.add("crawl") { _ = try await queue.add(within: 1) {} }
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
                for _ in 0..<4 { _ = try await queue.add(within: 3) {} }
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
                _ = try await disk.add(within: 1) {}
            }
            disk.add("write") {
                began.send()
                proceed.wait()
                _ = try await net.add(within: 1) {}
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
        let licences = ConcurrencyBudget(2, name: "licences")
        let (net, disk) = (Make.queue("net"), Make.queue("disk", width: 2))
        let (began, proceed) = (Signal(), Signal())
        disk.add(.cost(1, of: licences)) {
            began.send()
            proceed.wait()
        }
        #expect(await began.arrives())
        let inner = Make.operation("inner") {}
        inner.apply(.cost(1, of: licences))
        let outer = net.add(.cost(1, of: licences)) {
            net.addOperation(inner)
            began.send()
            await inner.waitUntilFinished()
        }
        #expect(await began.arrives())
        proceed.send()
        await outer.waitUntilFinished()

        let crawl = disk.add {
            for _ in 0..<50 { _ = try await disk.add(within: 2) { await Task.yield() } }
            for _ in 0..<50 { _ = try await net.add(within: 1) { await Task.yield() } }
        }
        try await crawl.value
        let late = net.add(.timeout(.milliseconds(20))) { _ = try await net.add(within: 1) {} }
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

    @Test func waitForOperationAddedToOwnSerialQueueTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net", width: 1)
            queue.addOperation(
                Make.operation("first") {
                    queue.addOperations([Make.operation("child") {}], waitUntilFinished: true)
                })
            await queue.drain()
        }
        expect(
            result, says: "'child' cannot start while 'first' holds the only slot of queue 'net'")
    }

    @Test func waitsByAllSlotHoldersTrap() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net", width: 2)
            let last = Make.operation("last") {}
            let inner = Make.operation("inner") {}
            let firsts = ["a", "b"].map { name in
                let target = name == "a" ? last : inner
                return Make.operation(name) { target.waitUntilFinished() }
            }
            await queue.addOperations(firsts + [inner, last], waitUntilFinished: false)
            await queue.drain()
        }
        expect(result, says: "cannot start while 'a' and 'b' hold the 2 slots of queue 'net'")
    }

    @Test func waitBySubclassHoldingOnlySlotTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            final class Waiting: Operation, @unchecked Sendable {
                let target: Operation
                init(for target: Operation) {
                    self.target = target
                    super.init()
                    name = "first"
                }
                override func main() { target.waitUntilFinished() }
            }
            let queue = Make.queue("net", width: 1)
            let second = Make.operation("second") {}
            queue.addOperation(Waiting(for: second))
            queue.addOperation(second)
            await queue.drain()
        }
        expect(
            result, says: "'second' cannot start while 'first' holds the only slot of queue 'net'")
    }

    @Test func waitForQueueContainingDependentTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (net, disk) = (Make.queue("net"), Make.queue("disk"))
            let store = Make.operation("store") {}
            let download = Make.operation("download") { disk.waitUntilAllOperationsAreFinished() }
            store.addDependency(download)
            disk.addOperation(store)
            net.addOperation(download)
            await net.drain()
        }
        expect(
            result,
            says: "'download' (executing on queue 'net') waits for all operations of queue 'disk', "
                + "one of which is 'store', and 'store' depends on 'download', so none of them")
    }

    @Test func waitForOperationWaitingForOwnQueueTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (net, disk) = (Make.queue("net"), Make.queue("disk"))
            let began = Signal()
            let store = Make.operation("store") {
                began.send()
                net.waitUntilAllOperationsAreFinished()
            }
            let download = Make.operation("download") {
                began.wait()
                store.waitUntilFinished()
            }
            net.addOperation(download)
            disk.addOperation(store)
            await net.drain()
        }
        expect(result, says: "so none of them would ever finish")
        expect(result, says: "waits for all operations of queue 'net', one of which is 'download'")
    }

    @Test func waitForOperationBehindBarrierTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net")
            let proceed = Signal()
            let behind = Make.operation("behind") {}
            let barrier = Barrier()
            let before = Make.operation("before") {
                proceed.wait()
                behind.waitUntilFinished()
            }
            await queue.addOperations([before, barrier, behind], waitUntilFinished: false)
            proceed.send()
            await queue.drain()
        }
        expect(
            result,
            says:
                "'before' (executing on queue 'net') waits for 'behind', and 'behind' is kept back "
                + "by a barrier of queue 'net' until 'before' has finished, so none of them")
    }

    @Test func asyncWaitWhileHoldingOnlySlotTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net", width: 1)
            let second = Make.operation("second") {}
            let first = AsyncOperation {
                queue.addOperation(second)
                await second.waitUntilFinished()
            }
            first.name = "first"
            queue.addOperation(first)
            await queue.drain()
        }
        expect(
            result, says: "'second' cannot start while 'first' holds the only slot of queue 'net'")
    }

    @Test func dependencyAddedDuringWaitTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net")
            let began = Signal()
            let second = Make.operation("second") {}
            let first = Make.operation("first") {
                began.send()
                second.waitUntilFinished()
            }
            queue.addOperation(first)
            #expect(await began.arrives())
            second.addDependency(first)
            queue.addOperation(second)
            await queue.drain()
        }
        expect(result, says: "waits for 'second', and 'second' depends on 'first', so none of them")
    }

    @Test func dependentAddedToAwaitedQueueTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (net, disk) = (Make.queue("net"), Make.queue("disk"))
            let (began, proceed) = (Signal(), Signal())
            disk.addOperation { proceed.wait() }
            let download = Make.operation("download") {
                began.send()
                disk.waitUntilAllOperationsAreFinished()
            }
            net.addOperation(download)
            #expect(await began.arrives())
            #expect(await comesTrue { !BlockedWait.targets(in: download).isEmpty })
            let store = Make.operation("store") {}
            store.addDependency(download)
            disk.addOperation(store)
            proceed.send()
            await net.drain()
        }
        expect(
            result,
            says: "waits for all operations of queue 'disk', one of which is 'store', and 'store' "
                + "depends on 'download', so none of them")
    }

    // MARK: Waits that may end

    @Test func waitForOperationInSuspendedQueueMayEnd() async {
        let queue = OperationQueue()
        let held = suspendedQueue()
        let began = Signal()
        let second = BlockOperation {}
        held.maxConcurrentOperationCount = 1
        held.addOperation(second)
        queue.addOperation {
            began.send()
            second.waitUntilFinished()
        }
        #expect(await began.arrives())
        held.isSuspended = false
        await queue.drain()
        #expect(second.isFinished)
    }

    @Test func waitForCancelledOperationEnds() async {
        let queue = serialQueue()
        let finished = Signal()
        let second = BlockOperation {}
        queue.addOperation {
            second.addDependency(Operation())
            queue.addOperation(second)
            second.cancel()
            second.waitUntilFinished()
            finished.send()
        }
        #expect(await finished.arrives())
        await queue.drain()
    }

    /// An operation that does not wait holds one of the slots, so the others run after it.
    @Test func slotOfHolderThatDoesNotWaitBecomesFree() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 2
        let (began, proceed) = (Signal(), Signal())
        let second = BlockOperation {}
        let first = BlockOperation {
            began.send()
            second.waitUntilFinished()
        }
        let busy = BlockOperation { proceed.wait() }
        await queue.addOperations([first, busy, second], waitUntilFinished: false)
        #expect(await began.arrives())
        proceed.send()
        await queue.drain()
        #expect(second.isFinished)
    }

    /// The dependency cycle has been reported, and cancelling a member of it also ends the wait.
    @Test func waitForDependencyCycleMayEnd() async {
        let queue = OperationQueue()
        let (a, b) = (BlockOperation {}, BlockOperation {})
        b.addDependency(a)
        a.addDependency(b)
        let began = Signal()
        queue.addOperation {
            began.send()
            a.waitUntilFinished()
        }
        await queue.addOperations([a, b], waitUntilFinished: false)
        #expect(await began.arrives())
        b.cancel()
        await queue.drain()
        #expect(a.isFinished)
    }

    /// All slot holders wait, but one of them waits for a cycle that can be broken.
    @Test func slotOfHolderWaitingForCycleMayBecomeFree() async {
        let (queue, other) = (OperationQueue(), OperationQueue())
        queue.maxConcurrentOperationCount = 2
        let (a, b) = (BlockOperation {}, BlockOperation {})
        b.addDependency(a)
        a.addDependency(b)
        await other.addOperations([a, b], waitUntilFinished: false)
        let last = BlockOperation {}
        let holders = [
            BlockOperation { a.waitUntilFinished() }, BlockOperation { last.waitUntilFinished() },
        ]
        await queue.addOperations(holders + [last], waitUntilFinished: false)
        for holder in holders {
            #expect(await comesTrue { !BlockedWait.targets(in: holder).isEmpty })
        }
        b.cancel()
        await queue.drain()
        #expect(last.isFinished)
    }

    /// The awaited operation is in a cycle, and also depends on the waiting operation.
    @Test func waitForDependentInsideCycleTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net")
            let (a, b) = (Make.operation("a") {}, Make.operation("b") {})
            let first = Make.operation("first") { a.waitUntilFinished() }
            a.addDependency(first)
            b.addDependency(a)
            a.addDependency(b)
            await queue.addOperations([first, a, b], waitUntilFinished: false)
            await queue.drain()
        }
        expect(result, says: "waits for 'a', and 'a' depends on 'first', so none of them would")
    }

    @Test func waitForOperationWithIsReadyOverrideMayEnd() async {
        final class Conditional: Operation, @unchecked Sendable {
            let condition = Locked(false)
            override var isReady: Bool { super.isReady && condition.withLock { $0 } }
        }
        let queue = OperationQueue()
        let operation = Conditional()
        let began = Signal()
        queue.addOperation {
            began.send()
            operation.waitUntilFinished()
        }
        queue.addOperation(operation)
        #expect(await began.arrives())
        operation.condition.withLock { $0 = true }
        operation.didChangeValue(forKey: "isReady")
        await queue.drain()
    }

    /// Operations of three queues wait only for children in the next queue. All slots are taken all
    /// the time, some children are cancelled, and some waits are for a whole queue.
    @Test func waitsOfNarrowQueuesForLowerQueuesEnd() async {
        for round in 0..<40 {
            let queues = (0..<3).map { _ in OperationQueue() }
            for queue in queues { queue.maxConcurrentOperationCount = 1 + round % 3 }
            let ran = Tally()
            @Sendable func work(_ depth: Int) {
                ran.increment()
                guard depth + 1 < queues.count else { return }
                let children = (0..<3).map { _ in BlockOperation { work(depth + 1) } }
                children[2].addDependency(children[0])
                if round % 2 == 0 {
                    queues[depth + 1].addOperations(children, waitUntilFinished: true)
                } else {
                    for child in children { queues[depth + 1].addOperation(child) }
                    children[1].cancel()
                    for child in children { child.waitUntilFinished() }
                    if depth == 1 { queues[2].waitUntilAllOperationsAreFinished() }
                }
            }
            for _ in 0..<6 { queues[0].addOperation { work(0) } }
            await queues[0].drain()
            #expect(ran.value >= 6)
            if round % 2 == 0 { #expect(ran.value == 6 + 18 + 54) }
        }
    }

    /// Each operation waits only for operations behind it, so no wait is mistaken for a deadlock.
    @Test func waitsForLaterOperationsOfWideQueueEnd() async {
        let queue = OperationQueue()
        let count = 200
        let ran = Tally()
        var operations: [BlockOperation] = []
        for index in 0..<count {
            let earlier = operations.enumerated().filter { (index + $0.offset) % 7 == 0 }
                .map(\.element)
            operations.append(
                BlockOperation {
                    for operation in earlier.suffix(3) { operation.waitUntilFinished() }
                    ran.increment()
                })
        }
        await queue.addOperations(operations.reversed(), waitUntilFinished: true)
        #expect(ran.value == count)
    }

    /// Of nested waits, only the innermost repeats its search for a deadlock, because the operation
    /// it waits for does not wait itself. That search finds the deadlock of all of them.
    @Test func dependencyAddedBehindNestedWaitsTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net")
            let began = Signal()
            let (last, key) = (Make.operation("last") {}, Make.operation("key") {})
            last.addDependency(key)
            let third = Make.operation("third") {
                began.send()
                last.waitUntilFinished()
            }
            let second = Make.operation("second") {
                queue.addOperation(third)
                third.waitUntilFinished()
            }
            let first = Make.operation("first") {
                queue.addOperation(second)
                second.waitUntilFinished()
            }
            queue.addOperation(first)
            queue.addOperation(last)
            await onThread { _ = began.wait() }
            // From here on no operation could proceed.
            key.addDependency(first)
            queue.addOperation(key)
            await queue.drain()
        }
        expect(result, says: "so none of them would ever finish: remove this wait")
    }

    /// A reported dependency cycle can be broken, so a wait behind it is no deadlock.
    @Test func waitBehindBrokenDependencyCycleEnds() async {
        await #expect(processExitsWith: .success) {
            OperationsDiagnostics.handler = { _ in }
            let queue = OperationQueue()
            let began = Signal()
            let (a, b) = (Make.operation("a") {}, Make.operation("b") {})
            let (c, after) = (Make.operation("c") {}, Make.operation("after") {})
            let waiting = Make.operation("waiting") {
                began.send()
                c.waitUntilFinished()
            }
            a.addDependency(b)
            b.addDependency(a)
            c.addDependency(a)
            // The wait holds back a dependent, so the search runs.
            after.addDependency(waiting)
            queue.addOperation(waiting)
            await queue.addOperations([c, after], waitUntilFinished: false)
            await onThread { _ = began.wait() }
            a.removeDependency(b)
            queue.addOperation(a)
            queue.addOperation(b)
            await queue.drain()
            #expect(c.isFinished)
        }
    }
}
