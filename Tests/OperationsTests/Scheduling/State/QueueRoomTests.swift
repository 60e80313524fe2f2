import Testing

@testable import Operations
@testable import OperationsRuntime

/// What limits the length of a queue, without a queue.
struct QueueRoomTests {
    @Test func nothingIsInUseAtFirst() {
        let room = QueueRoom()
        #expect(!room.isInUse && !room.isLimited && room.mostInBatch == .max)
    }

    @Test(arguments: [(capacity: 1, most: 1), (8, 1), (16, 2), (1_000, 125)])
    func aLimitedQueueKeepsFewEndedEntries(capacity: Int, most: Int) {
        var room = QueueRoom()
        room.overflow = OverflowState()
        #expect(room.isInUse && !room.isLimited && room.mostInBatch == .max)
        room.overflow?.setting = .dropOldest(capacity: capacity)
        #expect(room.isLimited && room.mostInBatch == most)
    }

    @Test func aLimitThatWasTakenBackIsForgotten() {
        var room = QueueRoom()
        room.overflow = OverflowState()
        room.overflow?.setting = .dropNewest(capacity: 3)
        room.endIfUnused()
        #expect(room.isLimited)
        room.overflow?.setting = nil
        let operation = BlockOperation {}
        room.overflow?.arriving.insert(ObjectIdentifier(operation))
        room.endIfUnused()
        #expect(room.isInUse)
        room.overflow?.arriving.remove(ObjectIdentifier(operation))
        room.overflow?.undecidedCount = 1
        room.endIfUnused()
        #expect(room.isInUse)
        room.overflow?.undecidedCount = 0
        room.endIfUnused()
        #expect(!room.isInUse)
    }

    /// What is added until then belongs to operations that have begun, and must not be dropped.
    @Test func aLimitThatIsAboutToBeSetIsNotForgotten() {
        var room = QueueRoom()
        room.overflow = OverflowState()
        room.overflow?.settingCount = 1
        room.endIfUnused()
        #expect(room.isInUse)
        room.overflow?.settingCount = 0
        room.endIfUnused()
        #expect(!room.isInUse)
    }

    @Test func capacityIsUsedWhileSomethingIsReserved() {
        var room = QueueRoom()
        room.capacity.begin()
        let isAdmitted = (0..<2).map { _ in room.capacity.admitAtOnce(below: 2, unfinished: 1) }
        #expect(isAdmitted == [true, false])
        room.endIfUnused()
        #expect(room.isInUse)
        room.capacity.reservationReleased()
        room.endIfUnused()
        #expect(!room.isInUse)
    }
}
