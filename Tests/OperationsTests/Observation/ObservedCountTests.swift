import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// The count with which an observer of a queue begins, and the changes after it.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ObservedCountTests {
    private final class Changes: QueueRecorder, @unchecked Sendable {
        // Unchecked: one thread uses it.
        private(set) var sum = 0

        func record(_ change: RecordedQueueChange) {
            switch change {
            case .arrival: sum += 1
            case .departure: sum -= 1
            default: break
            }
        }

        func notifyObservers() {}
    }

    /// A worker that has not seen the recall yet ends an operation in its claim, after the queue
    /// has begun to record each departure and before the count is read.
    @Test func countIncludesWhatHasYetToBeRecordedAsHavingLeft() {
        let (queue, changes, claim) = (OperationQueue(), Changes(), Claim())
        var state = QueueState()
        state.records.recorder = changes
        let operations = (0..<4).map { _ in BlockOperation {} }
        for operation in operations { _ = state.add(operation, to: queue) }
        // Operations this short are all claimed at once.
        state.slots.pace.typicalNanoseconds = 10
        guard case .claim = state.executorRequestedWork(claim, cores: 1) else {
            Issue.record("nothing was claimed")
            return
        }
        for operation in operations.prefix(2) {
            #expect(claim.takeNext()?.isOperation(at: operation.opaque) == true)
            _ = operation.exchange { $0.begunOnFastPath() }
            if operation === operations[0] { _ = operation.exchange { $0.finished() } }
        }
        state.beginNotifyingEach()
        _ = operations[1].exchange { $0.finished() }
        let (count, unfinished) = (state.countedOperationCount, state.operationCount)
        #expect(count == 3 && unfinished == 2)
        #expect(state.countedOperations.count == 3)
        #expect(state.retire(claim, nanoseconds: 1) != nil)
        #expect(changes.sum == -1 && count + changes.sum == state.countedOperationCount)
        // A second observer begins with the same number.
        state.beginNotifyingEach()
        #expect(state.countedOperationCount == 2 && state.operationCount == 2)
        for operation in operations { Unmanaged.passUnretained(operation).release() }
    }

    /// Blocks that have ended in a claim have no operation, and leave without a change.
    @Test func countLeavesOutBlocksThatHaveEnded() async {
        let queue = OperationQueue(width: 1)
        let (begun, mayEnd) = (Signal(), Signal())
        queue.isSuspended = true
        for number in 0..<8 {
            queue.addOperation {
                guard number == 4 else { return }
                begun.send()
                _ = mayEnd.wait()
            }
        }
        queue.event { $0.slots.pace.typicalNanoseconds = 10 }
        queue.isSuspended = false
        #expect(await begun.arrives())
        let counts = TestRecorder<Int>()
        let observation = queue.observe(\.operationCount, options: [.initial, .new]) {
            counts.record($1.newValue ?? -1)
        }
        #expect(counts.events == [4])
        mayEnd.send()
        await queue.drain()
        #expect(await comesTrue { counts.events == [4, 3, 2, 1, 0] })
        observation.invalidate()
    }
}
