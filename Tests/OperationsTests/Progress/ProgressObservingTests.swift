import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ProgressObservingTests {
    @Test func eachFractionReachesTheObserverInOrder() {
        let progress = Progress(totalUnitCount: 4)
        let seen = Locked<[Double?]>([])
        let observation = progress.observe(\.fractionCompleted, options: [.initial, .new]) {
            _, change in
            seen.withLock { $0.append(change.newValue) }
        }
        for count: Int64 in [1, 2, 2, 4] { progress.completedUnitCount = count }
        #expect(seen.withLock { $0 } == [0, 0.25, 0.5, 1])
        observation.invalidate()
        progress.completedUnitCount = 0
        #expect(seen.withLock { $0 }.count == 4)
    }

    @Test func parentsObserverSeesChangesOfChildren() {
        let root = Progress(totalUnitCount: 2)
        let middle = Progress(totalUnitCount: 2, parent: root, pendingUnitCount: 1)
        let leaf = Progress(totalUnitCount: 4, parent: middle, pendingUnitCount: 1)
        let seen = Locked<[Double?]>([])
        let observation = root.observe(\.fractionCompleted, options: [.old, .new]) { _, change in
            seen.withLock { $0.append(contentsOf: [change.oldValue, change.newValue]) }
        }
        for count: Int64 in 1...4 { leaf.completedUnitCount = count }
        #expect(seen.withLock { $0 } == [0, 0.0625, 0.0625, 0.125, 0.125, 0.1875, 0.1875, 0.25])
        observation.invalidate()
    }

    @Test func otherPropertiesCanBeObserved() {
        let progress = Progress(totalUnitCount: 0)
        let seen = Locked<[String]>([])
        func note<Value>(_ name: String)
            -> @Sendable (Progress, KeyValueObservedChange<Value>) ->
            Void
        {
            { _, change in seen.withLock { $0.append("\(name) \(change.newValue!)") } }
        }
        let observations = [
            progress.observe(\.totalUnitCount, options: .new, changeHandler: note("total")),
            progress.observe(\.completedUnitCount, options: .new, changeHandler: note("done")),
            progress.observe(\.isIndeterminate, options: .new, changeHandler: note("unknown")),
            progress.observe(\.isFinished, options: .new, changeHandler: note("finished")),
            progress.observe(\.isCancelled, options: .new, changeHandler: note("cancelled")),
        ]
        progress.totalUnitCount = 1
        progress.completedUnitCount = 1
        progress.cancel()
        let expected: Set = [
            "total 1", "unknown false", "done 1", "finished true", "cancelled true",
        ]
        #expect(Set(seen.withLock { $0 }) == expected)
        #expect(seen.withLock { $0 }.count == expected.count)
        for observation in observations { observation.invalidate() }
    }

    @Test func handlerMayChangeProgressAndEndObservation() {
        let progress = Progress(totalUnitCount: 10)
        let observation = Locked<KeyValueObservation?>(nil)
        let counts = Locked<[Int64?]>([])
        let made = progress.observe(\.completedUnitCount, options: .new) { progress, change in
            counts.withLock { $0.append(change.newValue) }
            if change.newValue == 3 { observation.withLock { $0 }?.invalidate() }
            progress.completedUnitCount += 1
        }
        observation.withLock { $0 = made }
        progress.completedUnitCount = 1
        #expect(counts.withLock { $0 } == [1, 2, 3])
        #expect(progress.completedUnitCount == 4)
    }

    @Test func everyStepOfManyThreadsReachesTheObserverOnce() async {
        let parent = Progress(totalUnitCount: 4_000)
        let children = (0..<4).map { _ in
            Progress(totalUnitCount: 1_000, parent: parent, pendingUnitCount: 1_000)
        }
        let seen = Locked<[Double]>([])
        let observation = parent.observe(\.fractionCompleted, options: .new) { _, change in
            seen.withLock { $0.append(change.newValue ?? -1) }
        }
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 4
        for child in children {
            queue.addOperation {
                for count: Int64 in 1...1_000 { child.completedUnitCount = count }
            }
        }
        await queue.drain()
        #expect(await comesTrue { seen.withLock { $0.last } == 1 })
        let fractions = seen.withLock { $0 }
        #expect(fractions.count == 4_000)
        #expect(fractions == fractions.sorted())
        observation.invalidate()
    }

    @Test func unknownKeyPathStopsTheProgram() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            _ = Progress(totalUnitCount: 1).observe(\.description) { _, _ in }
        }
        expect(result, says: "has no such property to observe", "\\.fractionCompleted")
    }
}
