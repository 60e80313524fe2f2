import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

/// Waits that can never end stop the program with the names of all waiting operations: rows O22 and
/// Q12, and decision 9.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct WaitCycleContractTests {
    @Test("O22: two operations that wait for each other stop the program")
    func operationsThatWaitForEachOtherTrap() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            endSoon()
            let (download, decode) = (BlockOperation(), BlockOperation())
            download.name = "download"
            decode.name = "decode"
            download.addExecutionBlock { decode.waitUntilFinished() }
            decode.addExecutionBlock { download.waitUntilFinished() }
            OperationQueue().addOperation(download)
            OperationQueue().addOperation(decode)
            await download.waitUntilFinished()
        }
        expect(result, says: "'download'", "'decode'", "wait")
    }

    @Test("O22: a cycle of three waiting operations stops the program with the names of all")
    func cycleOfThreeWaitingOperationsTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            endSoon()
            let operations = ["download", "decode", "resize"].map { name in
                let operation = BlockOperation()
                operation.name = name
                return operation
            }
            for (index, operation) in operations.enumerated() {
                let next = operations[(index + 1) % 3]
                operation.addExecutionBlock { next.waitUntilFinished() }
                OperationQueue().addOperation(operation)
            }
            await operations[0].waitUntilFinished()
        }
        expect(result, says: "'download'", "'decode'", "'resize'")
    }

    @Test("O22: an operation of a serial queue that waits for a later one stops the program")
    func serialOperationThatWaitsForALaterOneTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            endSoon()
            let queue = serialQueue()
            queue.name = "Download queue"
            queue.isSuspended = true
            let (first, second) = (BlockOperation(), named("second"))
            first.name = "first"
            first.addExecutionBlock { second.waitUntilFinished() }
            queue.addOperation(first)
            queue.addOperation(second)
            queue.isSuspended = false
            await queue.drain()
        }
        expect(result, says: "'first'", "'second'")
    }

    @Test("O22: an operation of a serial queue that adds another one and waits stops the program")
    func serialOperationThatAddsAnotherAndWaitsTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            endSoon()
            let queue = serialQueue()
            let first = BlockOperation {
                let second = named("second")
                queue.addOperations([second], waitUntilFinished: true)
            }
            first.name = "first"
            queue.addOperation(first)
            await queue.drain()
        }
        expect(result, says: "'first'", "'second'")
    }

    @Test("O22: an operation that waits for a direct or indirect dependent stops the program")
    func operationThatWaitsForItsDependentTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            endSoon()
            let (download, decode, resize) = (BlockOperation(), named("decode"), named("resize"))
            download.name = "download"
            decode.addDependency(download)
            resize.addDependency(decode)
            download.addExecutionBlock { resize.waitUntilFinished() }
            await OperationQueue().addOperations(
                [resize, decode, download], waitUntilFinished: true)
        }
        expect(result, says: "'download'", "'decode'", "'resize'")
    }

    @Test("O22: a wait cycle across two serial queues stops the program")
    func waitCycleAcrossTwoSerialQueuesTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            endSoon()
            let (left, right) = (serialQueue(), serialQueue())
            let (behindLeft, behindRight) = (named("behind left"), named("behind right"))
            let (first, second) = (BlockOperation(), BlockOperation())
            first.name = "left"
            second.name = "right"
            first.addExecutionBlock { behindRight.waitUntilFinished() }
            second.addExecutionBlock { behindLeft.waitUntilFinished() }
            for queue in [left, right] { queue.isSuspended = true }
            left.addOperation(first)
            left.addOperation(behindLeft)
            right.addOperation(second)
            right.addOperation(behindRight)
            for queue in [left, right] { queue.isSuspended = false }
            await left.drain()
        }
        expect(result, says: "'left'", "'right'")
    }

    @Test("Q12: two operations that wait for each other's queues stop the program")
    func operationsThatWaitForEachOthersQueuesTrap() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            endSoon()
            let (left, right) = (OperationQueue(), OperationQueue())
            let (first, second) = (BlockOperation(), BlockOperation())
            first.name = "left"
            second.name = "right"
            let (leftBegan, rightBegan) = (Signal(), Signal())
            first.addExecutionBlock {
                leftBegan.send()
                rightBegan.wait()
                right.waitUntilAllOperationsAreFinished()
            }
            second.addExecutionBlock {
                rightBegan.send()
                leftBegan.wait()
                left.waitUntilAllOperationsAreFinished()
            }
            left.addOperation(first)
            right.addOperation(second)
            await left.drain()
        }
        expect(result, says: "'left'", "'right'")
    }

    @Test("O22: two async bodies that wait for each other stop the program")
    func asyncBodiesThatWaitForEachOtherTrap() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            final class Waiting: TypedOperation<Void>, @unchecked Sendable {
                let other = TestRecorder<Operation>()
                override func main() async throws {
                    for operation in other.events { await operation.waitUntilFinished() }
                }
            }
            endSoon()
            let (download, decode) = (Waiting(), Waiting())
            download.name = "download"
            decode.name = "decode"
            download.other.record(decode)
            decode.other.record(download)
            await OperationQueue().addOperations([download, decode], waitUntilFinished: true)
        }
        expect(result, says: "'download'", "'decode'")
    }

    @Test(
        "O22: waits that resemble a cycle end: a wider queue, a cancelled operation, an open chain")
    func waitsThatOnlyResembleACycleEnd() async {
        let wide = OperationQueue()
        wide.maxConcurrentOperationCount = 2
        let behind = Operation()
        wide.addOperation { behind.waitUntilFinished() }
        wide.addOperation(behind)
        await wide.drain()

        let serial = serialQueue()
        serial.isSuspended = true
        let cancelled = Operation()
        serial.addOperation {
            cancelled.cancel()
            cancelled.waitUntilFinished()
        }
        serial.addOperation(cancelled)
        serial.isSuspended = false
        await serial.drain()

        let (first, second) = (BlockOperation(), BlockOperation())
        first.addExecutionBlock { second.waitUntilFinished() }
        second.addExecutionBlock { [unowned first] in _ = first.isFinished }
        await OperationQueue().addOperations([first, second], waitUntilFinished: true)
    }
}
