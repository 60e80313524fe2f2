import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct InvocationOperationTests {
    struct NoSuchFile: Error, Equatable { let name: String }

    final class Store: Sendable {
        let calls = Tally()

        func load(_ name: String) throws -> Int {
            calls.increment()
            guard name.hasSuffix(".txt") else { throw NoSuchFile(name: name) }
            return name.count
        }
        func size() -> Int { 3 }
        func clear() { calls.increment() }
        func pass(_ counter: Tally) -> Tally { counter }
        func wait(_ signals: (started: Signal, proceed: Signal)) -> Bool {
            signals.started.send()
            return signals.proceed.wait()
        }
        func cancel(_ operation: Operation) -> Int {
            operation.cancel()
            return 1
        }
    }

    @Test func resultIsReturnValueOfMethod() async throws {
        let store = Store()
        let load = InvocationOperation(target: store, method: Store.load, argument: "a.txt")
        let size = InvocationOperation(target: store, method: Store.size)
        await OperationQueue().addOperations([load, size], waitUntilFinished: true)
        #expect(try load.result == 5)
        #expect(try size.result == 3)
    }

    @Test func dependentReadsResult() async throws {
        let load = InvocationOperation(target: Store(), method: Store.load, argument: "a.txt")
        let (length, queue) = (TestRecorder<Int>(), OperationQueue())
        let use = BlockOperation { [unowned load] in
            if let result = try? load.result { length.record(result) }
        }
        use.addDependency(load)
        await queue.addOperations([use, load], waitUntilFinished: true)
        #expect(length.events == [5])
    }

    @Test func methodReturningNothingHasVoidResult() throws {
        let store = Store()
        let operation = InvocationOperation(target: store, method: Store.clear)
        operation.start()
        let result: Void = try operation.result
        #expect(result == () && store.calls.value == 1)
    }

    @Test func resultThrowsErrorOfMethod() {
        let operation = InvocationOperation(target: Store(), method: Store.load, argument: "a.jpg")
        operation.start()
        #expect(operation.isFinished)
        #expect(throws: NoSuchFile(name: "a.jpg")) { try operation.result }
        #expect(operation.error as? NoSuchFile == NoSuchFile(name: "a.jpg"))
    }

    @Test func resultIsUnavailableUntilFinished() async {
        let signals = (started: Signal(), proceed: Signal())
        let operation = InvocationOperation(target: Store(), method: Store.wait, argument: signals)
        #expect(reason(operation) == "notFinished")
        let queue = OperationQueue()
        queue.addOperation(operation)
        #expect(signals.started.wait())
        #expect(reason(operation) == "notFinished")
        signals.proceed.send()
        await queue.drain()
        #expect(reason(operation) == "none")
    }

    @Test func cancelledOperationHasNoResultAndReleasesTarget() async {
        weak var target: Store?
        weak var argument: Tally?
        let operation: InvocationOperation<Tally>
        do {
            let (store, counter) = (Store(), Tally())
            (target, argument) = (store, counter)
            operation = InvocationOperation(target: store, method: Store.pass, argument: counter)
        }
        #expect(target != nil && argument != nil)
        let queue = suspendedQueue()
        queue.addOperation(operation)
        operation.cancel()
        #expect(target == nil && argument == nil)
        #expect(reason(operation) == "cancelled")
        await queue.drain()
        #expect(operation.isFinished)
        #expect(reason(operation) == "cancelled")
    }

    @Test func cancellationDuringMethodWithdrawsResult() {
        let first = Operation()
        let operation = InvocationOperation(target: Store(), method: Store.cancel, argument: first)
        operation.start()
        #expect(first.isCancelled)
        #expect(reason(operation) == "none")

        let signals = (started: Signal(), proceed: Signal())
        let cancelled = InvocationOperation(target: Store(), method: Store.wait, argument: signals)
        cancelled.completionBlock = { signals.started.send() }
        OperationQueue().addOperation(cancelled)
        #expect(signals.started.wait())
        cancelled.cancel()
        signals.proceed.send()
        #expect(signals.started.wait())
        #expect(reason(cancelled) == "cancelled")
    }

    @Test func finishedOperationReleasesTargetAndKeepsResult() throws {
        weak var target: Store?
        let operation: InvocationOperation<Int>
        do {
            let store = Store()
            target = store
            operation = InvocationOperation(target: store, method: Store.load, argument: "a.txt")
        }
        #expect(target != nil)
        operation.start()
        #expect(target == nil)
        operation.cancel()
        operation.main()
        #expect(try operation.result == 5)
    }

    @Test func subclassThatDoesNotCallMethodHasNoResult() {
        final class Lazy: InvocationOperation<Int>, @unchecked Sendable {
            override func main() {}
        }
        let operation = Lazy(target: Store(), method: Store.size)
        operation.start()
        #expect(operation.isFinished)
        #expect(reason(operation) == "noOutput")
    }

    /// The reason for the missing result.
    private func reason<Output>(_ operation: InvocationOperation<Output>) -> String {
        do {
            _ = try operation.result
            return "none"
        } catch is OperationCancellation {
            return "cancelled"
        } catch OperationResultError.notFinished {
            return "notFinished"
        } catch OperationResultError.noOutput {
            return "noOutput"
        } catch {
            return "failed"
        }
    }
}
