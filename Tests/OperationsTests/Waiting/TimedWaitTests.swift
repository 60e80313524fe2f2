import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct TimedWaitTests {
    @Test func waitEndsAtTimeout() async {
        let queue = suspendedQueue()
        let operation = queue.add {}
        #expect(await !operation.finished(within: .milliseconds(1)))
        #expect(await !queue.finished(within: .milliseconds(1)))
        let isFinished = await onThread {
            operation.waitUntilFinished(within: .milliseconds(1))
                || queue.waitUntilAllOperationsAreFinished(within: .milliseconds(1))
        }
        #expect(!isFinished)
        #expect(operation.withExtras { $0.waiters.isEmpty })
        queue.isSuspended = false
        await queue.finished()
        #expect(await operation.finished(within: .zero))
        #expect(await queue.finished(within: .zero))
    }

    @Test func valueIsAwaitedForALimitedTime() async throws {
        let queue = suspendedQueue()
        let operation = queue.add("slow") { 7 }
        let limit = Duration.milliseconds(10)
        let error = OperationWaitTimeout(operation: "'slow'", limit: limit)
        await #expect(throws: error) { try await operation.value(within: limit) }
        await #expect(throws: OperationWaitTimeout.self) {
            try await operation.value(within: .zero)
        }
        #expect("\(error)" == "'slow' had not finished after a wait of 10 ms, and goes on")
        #expect(!operation.isFinished && !operation.isCancelled)
        #expect(operation.withExtras { $0.waiters.isEmpty })
        async let value = operation.value(within: .seconds(3600))
        queue.isSuspended = false
        #expect(try await value == 7)
        #expect(try await operation.value(within: .zero) == 7)
        let failed = queue.add { () -> Int in throw CancellationError() }
        await #expect(throws: CancellationError.self) {
            try await failed.value(within: .seconds(3600))
        }
    }

    @Test func cancellationEndsAWaitForAValueWithALimit() async throws {
        let queue = suspendedQueue()
        let operation = queue.add { 7 }
        for isEarly in [false, true] {
            let mayWait = Signal()
            let task = Task {
                if isEarly { _ = await mayWait.arrives() }
                return try await operation.value(within: .seconds(3600))
            }
            if !isEarly {
                #expect(await comesTrue { operation.withExtras { !$0.waiters.isEmpty } })
            }
            task.cancel()
            mayWait.send()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(operation.withExtras { $0.waiters.isEmpty })
        #expect(!operation.isCancelled)
        queue.isSuspended = false
        #expect(try await operation.value == 7)
    }

    @Test func waitEndsBeforeTimeout() async {
        let queue = suspendedQueue()
        let operation = queue.add {}
        async let first = operation.finished(within: .seconds(3600))
        async let second = queue.finished(within: .seconds(3600))
        async let third = onThread { operation.waitUntilFinished(within: .seconds(1_000_000)) }
        async let fourth = onThread {
            queue.waitUntilAllOperationsAreFinished(within: .seconds(3600))
        }
        queue.isSuspended = false
        let all = await [first, second, third, fourth]
        #expect(all == [true, true, true, true])
    }

    @Test func unrepresentableTimeoutsNeverExpire() async {
        let forever = Duration.seconds(Int64.max)
        let queue = suspendedQueue()
        let limited = queue.add(.timeout(forever), .deadline(in: forever)) {}
        let delayed = queue.add(.delay(forever)) {}
        async let inTime = limited.finished(within: forever)
        async let onTime = onThread { limited.waitUntilFinished(within: forever) }
        queue.isSuspended = false
        let both = await [inTime, onTime]
        #expect(both == [true, true])
        #expect(await !delayed.finished(within: .milliseconds(1)))
        delayed.cancel()
        await queue.finished()
    }

    @Test func timedOutWaitersAreRemoved() async {
        let queue = suspendedQueue()
        let operation = BlockOperation {}
        queue.addOperation(operation)
        for _ in 0..<10 {
            #expect(await operation.finished(within: .milliseconds(1)) == false)
            #expect(await queue.finished(within: .milliseconds(1)) == false)
        }
        #expect(operation.existingExtras?.waiters.isEmpty == true)
        #expect(queue.snapshot { $0.waiters.isEmpty })
        queue.isSuspended = false
        await queue.drain()
    }

    @Test func cancelledLoopOverIdlesIsRemoved() async {
        let queue = suspendedQueue()
        queue.addOperation {}
        let loop = Task { for await _ in queue.idles {} }
        #expect(await comesTrue { !queue.snapshot({ $0.waiters.isEmpty }) })
        loop.cancel()
        await loop.value
        #expect(queue.snapshot { $0.waiters.isEmpty })
        queue.isSuspended = false
        await queue.drain()
    }
}
