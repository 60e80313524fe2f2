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
            says: "'download' is executing on queue 'net', and waits for 'resize'; 'resize' waits "
                + "for 'decode'; 'decode' waits for 'download'; so none of them would ever finish: "
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
        expect(result, says: "is executing on queue 'net', and waits for '")
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
                "'download' is executing on queue 'net', and waits for 'second'; 'second' is ready, but "
                + "its queue 'mail' is strictly first in, first out, and 'first' before it has not "
                + "started; 'first' waits for 'download'; so none of them would ever finish")
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
                "'first' is executing on queue 'net', and waits for 'second'; 'second' is ready, but "
                + "the only slot of queue 'net' is taken by 'first'; so none of them would ever "
                + "finish: add 'second' to another queue, or give queue 'net' a larger "
                + "maxConcurrentOperationCount, or remove this wait")
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
            result, says: "'child' is ready, but the only slot of queue 'net' is taken by 'first'")
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
        expect(result, says: "is ready, but 2 of 2 slots of queue 'net' are taken by 'a', 'b'")
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
            result, says: "'second' is ready, but the only slot of queue 'net' is taken by 'first'")
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
            says: "'download' is executing on queue 'net', and waits for all operations of queue "
                + "'disk', one of which is 'store'; 'store' waits for 'download'; so none of them"
        )
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
                "'before' is executing on queue 'net', and waits for 'behind'; 'behind' is ready, "
                + "but a barrier of queue 'net' lets it start only after 'before'; so none of them")
    }

    @Test func asyncWaitWhileHoldingOnlySlotTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net", width: 1)
            let second = Make.operation("second") {}
            let first = TypedOperation<Void> {
                queue.addOperation(second)
                await second.waitUntilFinished()
            }
            first.name = "first"
            queue.addOperation(first)
            await queue.drain()
        }
        expect(
            result, says: "'second' is ready, but the only slot of queue 'net' is taken by 'first'")
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
        expect(result, says: "waits for 'second'; 'second' waits for 'first'; so none of them")
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
            says: "waits for all operations of queue 'disk', one of which is 'store'; 'store' "
                + "waits for 'download'; so none of them")
    }

    /// When the second wait begins, the first one is not known to wait for its operation yet.
    @Test func operationAddedToAwaitedQueueThatWaitsBackTraps() async {
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
            let store = Make.operation("store") { download.waitUntilFinished() }
            disk.addOperation(store)
            #expect(await comesTrue { !BlockedWait.targets(in: store).isEmpty })
            proceed.send()
            await net.drain()
        }
        expect(result, says: "'store'", "'download'", "so none of them would ever finish")
    }

    @Test func waitInsideBarrierForLaterOperationTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net")
            let behind = Make.operation("behind") {}
            queue.addBarrierBlock {
                queue.addOperation(behind)
                behind.waitUntilFinished()
            }
            await queue.drain()
        }
        expect(result, says: "'behind' is ready, but a barrier of queue 'net' lets it start only")
        expect(result, says: "so none of them would ever finish")
    }

    @Test func waitForMemberOfGroupHeldBackByWaiterTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net", width: 1)
            let member = Make.operation("member") {}
            let group = GroupOperation { member }
            group.name = "album"
            let first = Make.operation("first") {
                queue.addOperation(group)
                member.waitUntilFinished()
            }
            queue.addOperation(first)
            await queue.drain()
        }
        expect(
            result,
            says: "'first' is executing on queue 'net', and waits for 'member'; 'member' starts "
                + "when 'album' does, of which it is a member; 'album' is ready, but the only slot of "
                + "queue 'net' is taken by 'first'; so none of them would ever finish")
    }
}
