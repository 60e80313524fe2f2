import Testing

@testable import Operations
@testable import OperationsRuntime

/// The records of what comes into a queue and leaves it, without a queue.
struct QueueRecordsTests {
    private final class Recorder: QueueRecorder {
        let changes = Locked<[String]>([])

        func record(_ change: RecordedQueueChange) {
            let text =
                switch change {
                case .arrival(let operation): "+\(operation.name ?? "")"
                case .departure(let operation): "-\(operation.name ?? "")"
                case .isSuspended(let isSuspended): "suspended \(isSuspended)"
                case .width(let width): "width \(width)"
                case .name(let name): "name \(name)"
                case .qualityOfService(let quality): "quality \(quality)"
                }
            changes.withLock { $0.append(text) }
        }

        func notifyObservers() {}
    }

    private let recorder = Recorder()

    private func operation(_ name: String) -> Operation {
        let operation = BlockOperation {}
        operation.name = name
        return operation
    }

    @Test func nobodyIsToldWithoutARecorder() {
        var records = QueueRecords()
        #expect(records.record(.width(1)) == nil)
        records.beginNotifyingEach(besides: [])
        let left = records.leaves(operation("a"))
        #expect(records.arrives(operation("a")) == nil && left == nil)
    }

    @Test func operationsAreRecordedOnlyForObserversOfEach() {
        var records = QueueRecords()
        records.recorder = recorder
        let a = operation("a")
        var told = [records.arrives(a), records.leaves(a)]
        #expect(told.allSatisfy { $0 == nil })
        records.beginNotifyingEach(besides: [])
        told = [records.arrives(a), records.leaves(a)]
        #expect(told.allSatisfy { $0 === recorder })
        records.endNotifyingEach()
        #expect(records.arrives(a) == nil)
        #expect(records.record(.isSuspended(true)) === recorder)
        #expect(recorder.changes.withLock { $0 } == ["+a", "-a", "suspended true"])
    }

    /// Observers have never seen it, so they must not see it leave.
    @Test func whatHadFinishedBeforeIsNotRecorded() {
        var records = QueueRecords()
        records.recorder = recorder
        let (gone, next) = (operation("gone"), operation("next"))
        records.beginNotifyingEach(besides: [gone])
        #expect(records.isAlreadyGone(gone) && records.alreadyGoneCount == 1)
        let told = [records.leaves(gone), records.leaves(next)]
        #expect(told[0] == nil && told[1] === recorder && records.alreadyGoneCount == 0)
        // It may be added again.
        let again = records.leaves(gone)
        #expect(again === recorder)
        #expect(recorder.changes.withLock { $0 } == ["-next", "-gone"])
    }

    @Test func barriersAreNotRecorded() {
        var records = QueueRecords()
        records.recorder = recorder
        records.beginNotifyingEach(besides: [])
        let barrier = Barrier {}
        let told = [records.arrives(barrier), records.leaves(barrier)]
        #expect(told.allSatisfy { $0 == nil })
    }
}
