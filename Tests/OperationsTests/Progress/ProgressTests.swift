import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import Operations

/// The numbers were compared with what Foundation's class gives for the same calls.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ProgressTests {
    struct Case: Sendable {
        let total, completed: Int64
        let fraction: Double
        let isIndeterminate, isFinished: Bool
    }

    @Test(arguments: [
        Case(total: 0, completed: 0, fraction: 0, isIndeterminate: true, isFinished: false),
        Case(total: 0, completed: 1, fraction: 1, isIndeterminate: false, isFinished: true),
        Case(total: -1, completed: 0, fraction: 0, isIndeterminate: true, isFinished: false),
        Case(total: -1, completed: 3, fraction: 0, isIndeterminate: true, isFinished: false),
        Case(total: 4, completed: -1, fraction: 0, isIndeterminate: true, isFinished: false),
        Case(total: 4, completed: 3, fraction: 0.75, isIndeterminate: false, isFinished: false),
        Case(total: 4, completed: 4, fraction: 1, isIndeterminate: false, isFinished: true),
        Case(total: 4, completed: 6, fraction: 1.5, isIndeterminate: false, isFinished: true),
    ])
    func fractionFollowsTheCounts(expected: Case) {
        let progress = Progress(totalUnitCount: expected.total)
        progress.completedUnitCount = expected.completed
        #expect(progress.totalUnitCount == expected.total)
        #expect(progress.completedUnitCount == expected.completed)
        #expect(progress.fractionCompleted == expected.fraction)
        #expect(progress.isIndeterminate == expected.isIndeterminate)
        #expect(progress.isFinished == expected.isFinished)
    }

    @Test(.timeLimit(.minutes(1)))
    func noIncrementOfSeveralThreadsIsLost() async throws {
        let parent = Progress(totalUnitCount: 10)
        let progress = Progress(totalUnitCount: 0, parent: parent, pendingUnitCount: 10)
        try await (0..<8).concurrentForEach(width: 8) { _ in
            for _ in 0..<1_000 {
                progress.totalUnitCount += 2
                progress.completedUnitCount += 1
                progress.complete(1)
            }
        }
        #expect(progress.completedUnitCount == 16_000 && progress.totalUnitCount == 16_000)
        #expect(parent.isFinished)
    }

    @Test func changesInPlaceAreDifferences() {
        func raise(_ count: inout Int64, by units: Int64) throws {
            count += units
            throw CancellationError()
        }
        let progress = Progress(totalUnitCount: 10)
        let values = Locked<[Int64]>([])
        let observation = progress.observe(\.completedUnitCount, options: [.new]) { _, change in
            values.withLock { $0.append(change.newValue ?? -1) }
        }
        progress.completedUnitCount += 0
        progress.completedUnitCount *= 3
        progress.completedUnitCount += 4
        progress.completedUnitCount -= 1
        try? raise(&progress.completedUnitCount, by: 2)
        try? raise(&progress.totalUnitCount, by: 5)
        #expect(values.withLock { $0 } == [4, 3, 5])
        #expect(progress.totalUnitCount == 15)
        progress.completedUnitCount = .max
        progress.completedUnitCount -= .max
        progress.complete(-3)
        #expect(progress.completedUnitCount == -3 && progress.isIndeterminate)
        withExtendedLifetime(observation) {}
    }

    /// A function of the caller changes the count while the lock is free.
    @Test func changeInPlaceMayReadTheProgress() {
        let progress = Progress(totalUnitCount: 10)
        func change(_ count: inout Int64) { count += progress.totalUnitCount / 2 }
        change(&progress.completedUnitCount)
        #expect(progress.fractionCompleted == 0.5)
    }

    // MARK: Children

    @Test func childCountsInFractionsUntilItHasFinished() {
        let parent = Progress(totalUnitCount: 10)
        let child = Progress(totalUnitCount: 4, parent: parent, pendingUnitCount: 5)
        child.completedUnitCount = 3
        #expect(parent.fractionCompleted == 0.375)
        #expect(parent.completedUnitCount == 0)
        child.completedUnitCount = 6
        #expect(parent.fractionCompleted == 0.5)
        #expect(parent.completedUnitCount == 5)
    }

    @Test func finishedChildThatGoesBackCountsOnce() {
        let parent = Progress(totalUnitCount: 10)
        let child = Progress(totalUnitCount: 4, parent: parent, pendingUnitCount: 5)
        for count: Int64 in [4, 2, 4] { child.completedUnitCount = count }
        child.totalUnitCount = 8
        #expect(parent.completedUnitCount == 5)
        #expect(parent.fractionCompleted == 0.5)
    }

    @Test func fractionsComposeOverThreeLevels() {
        let root = Progress(totalUnitCount: 2)
        let middle = Progress(totalUnitCount: 2, parent: root, pendingUnitCount: 1)
        let leaf = Progress(totalUnitCount: 4, parent: middle, pendingUnitCount: 1)
        leaf.completedUnitCount = 1
        #expect(middle.fractionCompleted == 0.125)
        #expect(root.fractionCompleted == 0.0625)
        leaf.completedUnitCount = 4
        #expect(middle.completedUnitCount == 1)
        #expect(root.completedUnitCount == 0)
        #expect(root.fractionCompleted == 0.25)
        middle.completedUnitCount += 1
        #expect(root.completedUnitCount == 1)
        #expect(root.fractionCompleted == 0.5)
    }

    @Test func addedChildsCompletedUnitsCount() {
        let (parent, done, half) = (
            Progress(totalUnitCount: 10), Progress(totalUnitCount: 2), Progress(totalUnitCount: 2)
        )
        done.completedUnitCount = 2
        half.completedUnitCount = 1
        parent.addChild(done, withPendingUnitCount: 5)
        #expect(parent.completedUnitCount == 5)
        parent.addChild(half, withPendingUnitCount: 5)
        #expect(parent.fractionCompleted == 0.75)
    }

    @Test func indeterminateChildCountsAsNothing() {
        let parent = Progress(totalUnitCount: 10)
        parent.completedUnitCount = 3
        let child = Progress(totalUnitCount: -1, parent: parent, pendingUnitCount: 5)
        child.completedUnitCount = 7
        #expect(parent.fractionCompleted == 0.3)
        child.totalUnitCount = 14
        #expect(parent.fractionCompleted == 0.55)
    }

    @Test func changingTheTotalKeepsTheUnitsOfChildren() {
        let parent = Progress(totalUnitCount: 10)
        let child = Progress(totalUnitCount: 2, parent: parent, pendingUnitCount: 4)
        child.completedUnitCount = 1
        parent.totalUnitCount = 20
        #expect(parent.fractionCompleted == 0.1)
        parent.completedUnitCount = 16
        child.completedUnitCount = 2
        #expect(parent.isFinished)
    }

    @Test func parentRetainsAChildUntilItHasFinished() {
        let parent = Progress(totalUnitCount: 10)
        weak var weakChild: Progress?
        do {
            let child = Progress(totalUnitCount: 2, parent: parent, pendingUnitCount: 4)
            weakChild = child
        }
        #expect(weakChild != nil)
        weakChild?.completedUnitCount = 2
        #expect(weakChild == nil)

        let orphan = Progress(totalUnitCount: 2)
        Progress(totalUnitCount: 1).addChild(orphan, withPendingUnitCount: 1)
        orphan.completedUnitCount = 1
        #expect(orphan.fractionCompleted == 0.5)
        parent.addChild(orphan, withPendingUnitCount: 4)
        #expect(parent.completedUnitCount == 4)
        #expect(parent.fractionCompleted == 0.6)
    }

    @Test func countsOfManyThreadsAllArrive() async {
        let root = Progress(totalUnitCount: 8)
        let middle = Progress(totalUnitCount: 4, parent: root, pendingUnitCount: 8)
        let leaves = (0..<4).map { _ in
            Progress(totalUnitCount: 1000, parent: middle, pendingUnitCount: 1)
        }
        await withTaskGroup { group in
            for leaf in leaves {
                for _ in 0..<2 {
                    group.addTask { for _ in 0..<500 { leaf.completeUnit() } }
                }
            }
        }
        #expect(leaves.filter(\.isFinished).count == 4)
        #expect(middle.completedUnitCount == 4)
        #expect(root.completedUnitCount == 8)
        #expect(root.fractionCompleted == 1)
    }

    @Test func lastReportOfUnfinishedChildrenIsExact() async {
        let root = Progress(totalUnitCount: 2)
        let middle = Progress(totalUnitCount: 2, parent: root, pendingUnitCount: 2)
        let leaf = Progress(totalUnitCount: 1024, parent: middle, pendingUnitCount: 2)
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<192 { leaf.completeUnit() } }
            }
        }
        #expect(leaf.fractionCompleted == 0.75)
        #expect(middle.fractionCompleted == 0.75)
        #expect(root.fractionCompleted == 0.75)
    }

    @Test func unitsOfAnInactiveProgressAreNotCounted() {
        let progress = Progress(totalUnitCount: 0)
        progress.completeUnit()
        #expect(progress.completedUnitCount == 0)
        progress.totalUnitCount = 2
        progress.completeUnit()
        #expect(progress.completedUnitCount == 1)
        progress.totalUnitCount = 0
        progress.completeUnit()
        #expect(progress.completedUnitCount == 1)
    }

    // MARK: Looking

    @Test func parentIsNotifiedOfChangesOfItsChildren() {
        let (heard, parent) = (Tally(), Progress(totalUnitCount: 2))
        let child = Progress(totalUnitCount: 2, parent: parent, pendingUnitCount: 2)
        parent.onChange = { heard.increment() }
        child.completedUnitCount = 1
        #expect(heard.value == 1)
        child.completedUnitCount = 1
        #expect(heard.value == 1)
        parent.cancel()
        #expect(heard.value == 2)
        parent.onChange = nil
        child.completedUnitCount = 2
        #expect(heard.value == 2)
    }

    @Test func progressIsEqualByIdentityAndDescribesItsCounts() {
        let (a, b) = (Progress(totalUnitCount: 4), Progress(totalUnitCount: 4))
        #expect(a != b)
        #expect(Set([a, b, a]).count == 2)
        a.completedUnitCount = 1
        a.cancel()
        #expect(a.description.hasSuffix("(1 of 4 units, 25 %, cancelled)"))
        #expect(Progress(totalUnitCount: -1).description.hasSuffix("(0 of -1 units)"))
    }

    @Test func extremeCountsDoNotOverflow() {
        let parent = Progress(totalUnitCount: .max)
        parent.completedUnitCount = .max
        let child = Progress(totalUnitCount: 1, parent: parent, pendingUnitCount: .max)
        child.completeUnit()
        #expect(parent.completedUnitCount == .max)
        #expect(parent.description.contains("100 %"))
    }
}
