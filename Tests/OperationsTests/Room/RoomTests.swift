import Testing

@testable import Operations
@testable import OperationsRuntime

/// What limits the number of operations, without a queue.
struct RoomTests {
    @Test func nothingIsInUseAtFirst() {
        let room = Room()
        #expect(!room.endUnused() && room.limit == nil && room.mostInClaim == .max)
        #expect(!room.makesOperations && !room.leavesOneByOne)
    }

    @Test(arguments: [(capacity: 1, most: 1), (8, 1), (16, 2), (1_000, 125)])
    func aLimitedQueueKeepsFewEndedEntries(capacity: Int, most: Int) {
        let room = Room()
        room.limit = .dropOldest(capacity: capacity)
        #expect(room.endUnused() && room.mostInClaim == most && room.makesOperations)
        room.limit = nil
        #expect(!room.endUnused() && room.mostInClaim == .max && !room.makesOperations)
    }

    @Test func theRoomIsInUseWhileAnAdditionIsUnderWay() {
        let room = Room()
        let operation = BlockOperation {}
        room.expect(operation)
        #expect(room.endUnused() && room.isExpected(operation) && room.countOfArrivals == 1)
        room.forgetAddition(of: operation)
        #expect(!room.endUnused() && !room.isExpected(operation) && room.countOfArrivals == 0)
        room.reject(operation)
        #expect(room.endUnused() && room.countOfArrivals == 0)
        room.forgetAddition(of: operation)
        #expect(!room.endUnused())
    }

    @Test(arguments: [true, false])
    func theRoomIsInUseUntilItIsDecidedWhetherAnOperationIsDropped(isDropped: Bool) {
        let room = Room()
        let operation = BlockOperation {}
        room.mayDrop(operation)
        // It counts: the dropped one is taken from the count, the undecided one put back.
        #expect(room.endUnused() && room.countOfArrivals - room.droppedCount == 0)
        room.dropWasDecided(of: operation, isDropped)
        #expect(!room.endUnused() && room.isDropped(operation) == isDropped)
        room.leaves(operation)
        #expect(room.droppedCount == 0 && !room.isDropped(operation))
    }

    /// Until the limit is set, what is added belongs to operations that have begun, and must not be
    /// dropped.
    @Test func aLimitThatIsAboutToBeSetIsNotForgotten() {
        let room = Room()
        room.settingCount = 1
        #expect(room.endUnused())
        room.settingCount = 0
        #expect(!room.endUnused())
    }

    @Test func marksDoNotReplaceOneAnother() {
        let room = Room()
        let operation = BlockOperation {}
        room.drop(operation)
        room.exempt(operation)
        #expect(room.isDropped(operation) && !room.isExempt(operation) && room.isTaken(operation))
        room.forgetAddition(of: operation)
        #expect(room.droppedCount == 1)
        room.leaves(operation)
        room.exempt(operation)
        #expect(room.isExempt(operation) && room.exemptCount == 1 && room.droppedCount == 0)
        room.leaves(operation)
        #expect(room.exemptCount == 0)
    }

    @Test func capacityIsUsedWhileSomethingIsReserved() {
        let room = Room()
        room.leavesOneByOne = true
        let isAdmitted = (0..<2).map { _ in room.capacity.admitAtOnce(below: 2, unfinished: 1) }
        #expect(isAdmitted == [true, false])
        #expect(room.endUnused() && room.leavesOneByOne)
        room.capacity.reservationReleased()
        #expect(!room.endUnused() && !room.leavesOneByOne)
    }
}
