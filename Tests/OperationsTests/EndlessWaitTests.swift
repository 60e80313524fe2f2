import TestSupport
import Testing

@testable import Operations

/// Waits that would never end stop the program with a sentence that names who waits for whom.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct EndlessWaitTests {
    /// The situations, made from named operations. Each runs in a process of its own.
    enum Circle {
        static func named(_ name: String, _ block: @escaping @Sendable () -> Void) -> BlockOperation
        {
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

    @Test func forAnOperationThatDependsOnTheWaitingOne() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (net, disk) = (Circle.queue("net"), Circle.queue("disk"))
            let (decode, resize) = (Circle.named("decode") {}, Circle.named("resize") {})
            let download = Circle.named("download") { resize.waitUntilFinished() }
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

    @Test func thatCloseACircleTogether() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            final class Waiting: Operation, @unchecked Sendable {
                nonisolated(unsafe) weak var other: Operation?
                let goOn: Signal
                init(_ name: String, _ goOn: Signal) {
                    self.goOn = goOn
                    super.init()
                    self.name = name
                }
                override func main() {
                    goOn.wait()
                    other?.waitUntilFinished()
                }
            }
            let goOn = Signal()
            let queue = Circle.queue("net")
            let (a, b) = (Waiting("a", goOn), Waiting("b", goOn))
            (a.other, b.other) = (b, a)
            await queue.addOperations([a, b], waitUntilFinished: false)
            goOn.send()
            goOn.send()
            await queue.drain()
        }
        expect(result, says: "(executing on queue 'net') waits for '")
        expect(result, says: "so none of them would ever finish: remove this wait")
    }

    @Test func forOneThatAStrictOrderHoldsBack() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (net, mail) = (Circle.queue("net"), Circle.queue("mail"))
            mail.order = .fifo
            let (first, second) = (Circle.named("first") {}, Circle.named("second") {})
            let download = Circle.named("download") { second.waitUntilFinished() }
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

    @Test func onASerialQueueForOneBehindIt() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Circle.queue("net", width: 1)
            let second = Circle.named("second") {}
            let first = Circle.named("first") { second.waitUntilFinished() }
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

    // MARK: Units and room

    @Test func forOneThatNeedsTheSameUnits() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let licences = ConcurrencyBudget(3, name: "licences")
            let (net, disk) = (Circle.queue("net"), Circle.queue("disk"))
            let link = Circle.named("link") {}
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
                + "'licences' more units, or remove this wait")
    }

    @Test func forOneBehindThoseThatHoldAllUnits() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let licences = ConcurrencyBudget(2, name: "licences")
            let (net, disk) = (Circle.queue("net"), Circle.queue("disk"))
            let (large, small) = (Circle.named("large") {}, Circle.named("small") {})
            large.apply(.cost(2, of: licences))
            small.apply(.cost(1, of: licences))
            let (begun, goOn) = (Signal(), Signal())
            for _ in 0..<2 {
                net.add("build", .cost(1, of: licences)) {
                    begun.send()
                    goOn.wait()
                    await small.waitUntilFinished()
                }
            }
            for _ in 0..<2 { #expect(await begun.arrives()) }
            disk.addOperation(large)
            while large.isReady { await Task.yield() }
            disk.addOperation(small)
            while small.isReady { await Task.yield() }
            for _ in 0..<2 { goOn.send() }
            await net.drain()
        }
        expect(result, says: "waits for 'small', ")
        expect(result, says: "cannot start while 'build'")
        expect(result, says: "so none of them would ever finish")
    }

    @Test func forOneWithTheSameKey() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Circle.queue("net")
            queue.add("outer", .exclusive(by: "cache")) {
                try await queue.add("inner", .exclusive(by: "cache")) {}.value
            }
            await queue.drain()
        }
        expect(result, says: "waits for 'inner', and 'inner' cannot start while 'outer' holds")
        expect(result, says: "wait outside of what has that key, or remove this wait")
    }

    @Test func forRoomInItsOwnQueue() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Circle.queue("net")
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

    /// None of the others can start while it has the slot.
    @Test func forRoomThatWaitsForItsOwnSlot() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Circle.queue("net", width: 1)
            queue.add("crawl") {
                for _ in 0..<4 { _ = try await queue.add(within: 3) {} }
            }
            await queue.drain()
        }
        expect(result, says: "waits for fewer than 3 operations in its own queue 'net'")
    }

    @Test func forRoomInEachOthersQueues() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (net, disk) = (Circle.queue("net"), Circle.queue("disk"))
            let (begun, goOn) = (Signal(), Signal())
            net.add("download") {
                begun.send()
                goOn.wait()
                _ = try await disk.add(within: 1) {}
            }
            disk.add("write") {
                begun.send()
                goOn.wait()
                _ = try await net.add(within: 1) {}
            }
            for _ in 0..<2 { #expect(await begun.arrives()) }
            for _ in 0..<2 { goOn.send() }
            await net.drain()
        }
        expect(result, says: "waits for fewer than 1 operations in queue '")
        expect(result, says: "so none of them would ever finish: let the operations of queue '")
    }

    /// Each of these ends: by units that another one gives back, by room that comes, or at a
    /// deadline.
    @Test func waitsForUnitsAndRoomThatCome() async throws {
        let licences = ConcurrencyBudget(2, name: "licences")
        let (net, disk) = (Circle.queue("net"), Circle.queue("disk", width: 2))
        let (begun, goOn) = (Signal(), Signal())
        disk.add(.cost(1, of: licences)) {
            begun.send()
            goOn.wait()
        }
        #expect(await begun.arrives())
        let inner = Circle.named("inner") {}
        inner.apply(.cost(1, of: licences))
        let outer = net.add(.cost(1, of: licences)) {
            net.addOperation(inner)
            begun.send()
            await inner.waitUntilFinished()
        }
        #expect(await begun.arrives())
        goOn.send()
        await outer.waitUntilFinished()

        let crawl = disk.add {
            for _ in 0..<50 { _ = try await disk.add(within: 2) { await Task.yield() } }
            for _ in 0..<50 { _ = try await net.add(within: 1) { await Task.yield() } }
        }
        try await crawl.value
        let late = net.add(.timeout(.milliseconds(20))) { _ = try await net.add(within: 1) {} }
        await late.waitUntilFinished()
        #expect(late.error is OperationTimeout)

        let narrow = Circle.queue("narrow", width: 1)
        let first = narrow.add {
            let second = narrow.add(.deadline(in: .milliseconds(20))) {}
            await second.waitUntilFinished()
        }
        await first.waitUntilFinished()
        #expect(!first.isCancelled)
    }

    @Test func onASerialQueueForOneThatItAdds() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Circle.queue("net", width: 1)
            queue.addOperation(
                Circle.named("first") {
                    queue.addOperations([Circle.named("child") {}], waitUntilFinished: true)
                })
            await queue.drain()
        }
        expect(
            result, says: "'child' cannot start while 'first' holds the only slot of queue 'net'")
    }

    @Test func byAllThatHoldTheSlotsOfAQueue() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Circle.queue("net", width: 2)
            let last = Circle.named("last") {}
            let inner = Circle.named("inner") {}
            let firsts = ["a", "b"].map { name in
                let target = name == "a" ? last : inner
                return Circle.named(name) { target.waitUntilFinished() }
            }
            await queue.addOperations(firsts + [inner, last], waitUntilFinished: false)
            await queue.drain()
        }
        expect(result, says: "cannot start while 'a' and 'b' hold the 2 slots of queue 'net'")
    }

    @Test func bySubclassesThatHoldTheSlotsOfAQueue() async {
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
            let queue = Circle.queue("net", width: 1)
            let second = Circle.named("second") {}
            queue.addOperation(Waiting(for: second))
            queue.addOperation(second)
            await queue.drain()
        }
        expect(
            result, says: "'second' cannot start while 'first' holds the only slot of queue 'net'")
    }

    @Test func forAQueueOneOfWhoseOperationsDependsOnTheWaitingOne() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (net, disk) = (Circle.queue("net"), Circle.queue("disk"))
            let store = Circle.named("store") {}
            let download = Circle.named("download") { disk.waitUntilAllOperationsAreFinished() }
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

    @Test func forAnOperationThatWaitsForTheQueueOfTheWaitingOne() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (net, disk) = (Circle.queue("net"), Circle.queue("disk"))
            let begun = Signal()
            let store = Circle.named("store") {
                begun.send()
                net.waitUntilAllOperationsAreFinished()
            }
            let download = Circle.named("download") {
                begun.wait()
                store.waitUntilFinished()
            }
            net.addOperation(download)
            disk.addOperation(store)
            await net.drain()
        }
        expect(result, says: "so none of them would ever finish")
        expect(result, says: "waits for all operations of queue 'net', one of which is 'download'")
    }

    @Test func behindABarrier() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Circle.queue("net")
            let goOn = Signal()
            let behind = Circle.named("behind") {}
            let barrier = Barrier()
            let before = Circle.named("before") {
                goOn.wait()
                behind.waitUntilFinished()
            }
            await queue.addOperations([before, barrier, behind], waitUntilFinished: false)
            goOn.send()
            await queue.drain()
        }
        expect(
            result,
            says:
                "'before' (executing on queue 'net') waits for 'behind', and 'behind' is kept back "
                + "by a barrier of queue 'net' until 'before' has finished, so none of them")
    }

    @Test func inAnAsyncBody() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Circle.queue("net", width: 1)
            let second = Circle.named("second") {}
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

    @Test func whoseCircleIsClosedWhileItLasts() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Circle.queue("net")
            let begun = Signal()
            let second = Circle.named("second") {}
            let first = Circle.named("first") {
                begun.send()
                second.waitUntilFinished()
            }
            queue.addOperation(first)
            #expect(await begun.arrives())
            second.addDependency(first)
            queue.addOperation(second)
            await queue.drain()
        }
        expect(result, says: "waits for 'second', and 'second' depends on 'first', so none of them")
    }

    @Test func whoseCircleIsClosedByAnAdditionToTheQueueItWaitsFor() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (net, disk) = (Circle.queue("net"), Circle.queue("disk"))
            let (begun, goOn) = (Signal(), Signal())
            disk.addOperation { goOn.wait() }
            let download = Circle.named("download") {
                begun.send()
                disk.waitUntilAllOperationsAreFinished()
            }
            net.addOperation(download)
            #expect(await begun.arrives())
            #expect(await comesTrue { !BlockedWait.targets(in: download).isEmpty })
            let store = Circle.named("store") {}
            store.addDependency(download)
            disk.addOperation(store)
            goOn.send()
            await net.drain()
        }
        expect(
            result,
            says: "waits for all operations of queue 'disk', one of which is 'store', and 'store' "
                + "depends on 'download', so none of them")
    }

    // MARK: Waits that may end

    @Test func aSuspendedQueueMayBeResumed() async {
        let queue = OperationQueue()
        let held = suspendedQueue()
        let begun = Signal()
        let second = BlockOperation {}
        held.maxConcurrentOperationCount = 1
        held.addOperation(second)
        queue.addOperation {
            begun.send()
            second.waitUntilFinished()
        }
        #expect(await begun.arrives())
        held.isSuspended = false
        await queue.drain()
        #expect(second.isFinished)
    }

    @Test func aCancelledOperationWaitsForNothing() async {
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

    /// One slot is held by an operation that does not wait, so the others get their turn after it.
    @Test func aSlotWhoseHolderDoesNotWaitBecomesFree() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 2
        let (begun, goOn) = (Signal(), Signal())
        let second = BlockOperation {}
        let first = BlockOperation {
            begun.send()
            second.waitUntilFinished()
        }
        let busy = BlockOperation { goOn.wait() }
        await queue.addOperations([first, busy, second], waitUntilFinished: false)
        #expect(await begun.arrives())
        goOn.send()
        await queue.drain()
        #expect(second.isFinished)
    }

    /// A cycle of dependencies has been reported, and whoever cancels a member ends the wait too.
    @Test func aCycleOfOthersMayBeBroken() async {
        let queue = OperationQueue()
        let (a, b) = (BlockOperation {}, BlockOperation {})
        b.addDependency(a)
        a.addDependency(b)
        let begun = Signal()
        queue.addOperation {
            begun.send()
            a.waitUntilFinished()
        }
        await queue.addOperations([a, b], waitUntilFinished: false)
        #expect(await begun.arrives())
        b.cancel()
        await queue.drain()
        #expect(a.isFinished)
    }

    /// All slots are held by waits, but one of these is for a cycle that can be broken.
    @Test func aSlotWhoseHolderWaitsForACycleMayBecomeFree() async {
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

    /// The operation waited for is in a cycle, and depends on the waiting one too.
    @Test func forAMemberOfACycleThatDependsOnTheWaitingOne() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Circle.queue("net")
            let (a, b) = (Circle.named("a") {}, Circle.named("b") {})
            let first = Circle.named("first") { a.waitUntilFinished() }
            a.addDependency(first)
            b.addDependency(a)
            a.addDependency(b)
            await queue.addOperations([first, a, b], waitUntilFinished: false)
            await queue.drain()
        }
        expect(result, says: "waits for 'a', and 'a' depends on 'first', so none of them would")
    }

    @Test func anOverrideOfIsReadyMayChangeItsMind() async {
        final class Conditional: Operation, @unchecked Sendable {
            let condition = Locked(false)
            override var isReady: Bool { super.isReady && condition.withLock { $0 } }
        }
        let queue = OperationQueue()
        let operation = Conditional()
        let begun = Signal()
        queue.addOperation {
            begun.send()
            operation.waitUntilFinished()
        }
        queue.addOperation(operation)
        #expect(await begun.arrives())
        operation.condition.withLock { $0 = true }
        operation.didChangeValue(forKey: "isReady")
        await queue.drain()
    }

    /// Three queues that wait for each other's children only downwards, with every slot taken all
    /// the time, cancellations, and waits for whole queues.
    @Test func waitsOfNarrowQueuesForQueuesBelowThemEnd() async {
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

    /// Waits inside of operations in all directions but backwards: none is taken for a circle.
    @Test func waitsForLaterOnesOfAWideQueueEnd() async {
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

    /// Of threads that wait inside of each other, only those look again from time to time whose
    /// wait is not for one that waits itself; they find the circle for all.
    @Test func thatADependencyMakesEndlessLaterBehindOtherWaits() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Circle.queue("net")
            let began = Signal()
            let (last, key) = (Circle.named("last") {}, Circle.named("key") {})
            last.addDependency(key)
            let third = Circle.named("third") {
                began.send()
                last.waitUntilFinished()
            }
            let second = Circle.named("second") {
                queue.addOperation(third)
                third.waitUntilFinished()
            }
            let first = Circle.named("first") {
                queue.addOperation(second)
                second.waitUntilFinished()
            }
            queue.addOperation(first)
            queue.addOperation(last)
            await onThread { _ = began.wait() }
            // From here on nobody would go on.
            key.addDependency(first)
            queue.addOperation(key)
            await queue.drain()
        }
        expect(result, says: "so none of them would ever finish: remove this wait")
    }

    /// A circle of dependencies that was reported can be broken, so nothing that waits behind it is
    /// stuck.
    @Test func behindABrokenCircleOfDependenciesWaitsEnd() async {
        await #expect(processExitsWith: .success) {
            OperationsDiagnostics.handler = { _ in }
            let queue = OperationQueue()
            let began = Signal()
            let (a, b) = (Circle.named("a") {}, Circle.named("b") {})
            let (c, after) = (Circle.named("c") {}, Circle.named("after") {})
            let waiting = Circle.named("waiting") {
                began.send()
                c.waitUntilFinished()
            }
            a.addDependency(b)
            b.addDependency(a)
            c.addDependency(a)
            // So the search is made: the wait holds something back.
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
