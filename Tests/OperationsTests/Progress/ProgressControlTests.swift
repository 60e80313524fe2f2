import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// Cancellation, current progresses, and streams.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ProgressControlTests {
    // MARK: Cancelling

    @Test func cancellationReachesChildrenAndNotTheParent() {
        let root = Progress(totalUnitCount: 2)
        let middle = Progress(totalUnitCount: 2, parent: root, pendingUnitCount: 1)
        let leaf = Progress(totalUnitCount: 2, parent: middle, pendingUnitCount: 1)
        let (called, done) = (TestRecorder<String>(), Signal())
        leaf.cancellationHandler = {
            called.record("leaf")
            done.send()
        }
        middle.cancel()
        middle.cancel()
        #expect((root.isCancelled, middle.isCancelled, leaf.isCancelled) == (false, true, true))
        #expect(done.wait())
        root.cancel()
        #expect(root.isCancelled)
        // Handlers of one progress keep their order, so a second call would come before this one.
        leaf.cancellationHandler = { done.send() }
        #expect(done.wait())
        #expect(called.events == ["leaf"])
    }

    @Test func accessesDoNotWrapTheCancellationHandler() async {
        await #expect(processExitsWith: .success) {
            let (progress, calls) = (Progress(totalUnitCount: 1), Tally())
            progress.cancellationHandler = { calls.increment() }
            for _ in 0..<30_000 { progress.cancellationHandler = progress.cancellationHandler }
            // Each wrapping would take some of this stack.
            await onThread(stackSize: 512 * 1024) { progress.cancellationHandler?() }
            #expect(calls.value == 1)
        }
    }

    @Test func childAddedToACancelledProgressIsCancelled() {
        let parent = Progress(totalUnitCount: 2)
        parent.cancel()
        let (child, cancelled) = (Progress(totalUnitCount: 1), Signal())
        child.cancellationHandler = { cancelled.send() }
        parent.addChild(child, withPendingUnitCount: 1)
        #expect(child.isCancelled)
        #expect(cancelled.wait())
    }

    @Test func handlerSetAfterTheCancellationIsCalled() {
        let (progress, called) = (Progress(totalUnitCount: 1), Signal())
        progress.cancel()
        progress.cancellationHandler = { called.send() }
        #expect(called.wait())
    }

    @Test func handlersRunInTheOrderSet() {
        let parent = Progress(totalUnitCount: 1)
        let child = Progress(totalUnitCount: 1, parent: parent, pendingUnitCount: 1)
        let (calls, done) = (TestRecorder<Int>(), Signal())
        child.cancellationHandler = { calls.record(0) }
        parent.cancel()
        for number in 1...20 { child.cancellationHandler = { calls.record(number) } }
        child.cancellationHandler = { done.send() }
        #expect(done.wait())
        #expect(calls.events == Array(0...20))
    }

    @Test func handlerMayUseTheProgress() {
        let (progress, isFinished, done) = (
            Progress(totalUnitCount: 1), TestRecorder<Bool>(), Signal()
        )
        progress.cancellationHandler = { [unowned progress] in
            progress.completedUnitCount = 1
            isFinished.record(progress.isFinished)
            progress.cancellationHandler = nil
            done.send()
        }
        progress.cancel()
        #expect(done.wait())
        #expect(isFinished.events == [true])
    }

    @Test func isCancellableHasNoEffectOnCancelling() {
        let progress = Progress(totalUnitCount: 1)
        #expect(progress.isCancellable)
        progress.isCancellable = false
        progress.cancel()
        #expect(progress.isCancelled)
    }

    // MARK: Being current

    @Test func firstProgressMadeUnderACurrentOneTakesItsUnits() {
        let parent = Progress(totalUnitCount: 10)
        #expect(Progress.current() == nil)
        parent.becomeCurrent(withPendingUnitCount: 4)
        #expect(Progress.current() == parent)
        let discrete = Progress.discreteProgress(totalUnitCount: 1)
        let (first, second) = (Progress(totalUnitCount: 2), Progress(totalUnitCount: 2))
        parent.resignCurrent()
        #expect(Progress.current() == nil)
        for progress in [discrete, second] { progress.completedUnitCount = 2 }
        #expect(parent.fractionCompleted == 0)
        first.completedUnitCount = 1
        #expect(parent.fractionCompleted == 0.2)
        first.completedUnitCount = 2
        #expect(parent.completedUnitCount == 4)
    }

    @Test func unitsWithoutAChildCompleteOnResigning() {
        let parent = Progress(totalUnitCount: 10)
        parent.performAsCurrent(withPendingUnitCount: 4) {
            #expect(parent.completedUnitCount == 0)
        }
        #expect(parent.completedUnitCount == 4)
        #expect(throws: CancellationError.self) {
            try parent.performAsCurrent(withPendingUnitCount: 2) { throw CancellationError() }
        }
        #expect(parent.completedUnitCount == 6)
        #expect(Progress.current() == nil)
    }

    @Test func currentProgressesNest() {
        let (outer, inner) = (
            Progress(totalUnitCount: 2), Progress.discreteProgress(totalUnitCount: 1)
        )
        let result = outer.performAsCurrent(withPendingUnitCount: 2) {
            inner.performAsCurrent(withPendingUnitCount: 1) { Progress.current() == inner }
                && Progress.current() == outer
        }
        #expect(result)
        #expect(inner.isFinished && outer.isFinished)
    }

    @Test func currentProgressFollowsATaskAndItsChildren() async {
        let parent = Progress(totalUnitCount: 10)
        let child = await parent.performAsCurrent(withPendingUnitCount: 5) {
            await Task.yield()
            #expect(Progress.current() == parent)
            async let made = Progress(totalUnitCount: 2)
            return await made
        }
        #expect(Progress.current() == nil)
        child.completedUnitCount = 1
        #expect(parent.fractionCompleted == 0.25)
        await parent.performAsCurrent(withPendingUnitCount: 3) { await Task.yield() }
        #expect(parent.completedUnitCount == 3)
    }

    @Test func taskThatOutlivesTheCurrentProgressHasNone() async {
        let (parent, end) = (Progress(totalUnitCount: 2), AsyncStream<Void>.makeStream())
        let late = await parent.performAsCurrent(withPendingUnitCount: 1) {
            await Task.yield()
            return Task {
                for await _ in end.stream {}
                _ = Progress(totalUnitCount: 1)
                return Progress.current()
            }
        }
        end.continuation.finish()
        #expect(await late.value == nil)
        #expect(parent.completedUnitCount == 1)
    }

    @Test func closureWithoutSuspensionNeedsNoAwaitInATask() async {
        let parent = Progress(totalUnitCount: 1)
        await Task.yield()
        let current = parent.performAsCurrent(withPendingUnitCount: 1) { Progress.current() }
        #expect(current == parent)
    }

    // MARK: Streams

    @Test func readerGetsThePresentAndLaterValues() async {
        let progress = Progress(totalUnitCount: 4)
        progress.completedUnitCount = 1
        var seen: [Double] = []
        for await fraction in progress.fractions {
            seen.append(fraction)
            progress.completedUnitCount += 1
        }
        #expect(seen == [0.25, 0.5, 0.75, 1])
    }

    @Test func slowReaderGetsTheLatestValueOnly() async {
        let progress = Progress(totalUnitCount: 10)
        var fractions = progress.fractions.makeAsyncIterator()
        #expect(await fractions.next() == 0)
        for count: Int64 in 1...9 { progress.completedUnitCount = count }
        #expect(await fractions.next() == 0.9)
        progress.cancel()
        #expect(await fractions.next() == nil)
        progress.completedUnitCount = 10
        #expect(await fractions.next() == nil)
    }

    @Test func finishedProgressGivesOneValue() async {
        let progress = Progress(totalUnitCount: 1)
        progress.completedUnitCount = 1
        for _ in 0..<2 {
            var seen: [Double] = []
            for await fraction in progress.fractions { seen.append(fraction) }
            #expect(seen == [1])
        }
    }

    /// The reader suspends after its first value, so changes have to wake it.
    @Test func waitingReadersAreWokenByChangesOfChildren() async {
        let parent = Progress(totalUnitCount: 1000)
        let child = Progress(totalUnitCount: 1000, parent: parent, pendingUnitCount: 1000)
        let started = AsyncStream<Void>.makeStream()
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    var last = -1.0
                    for await fraction in parent.fractions {
                        #expect(fraction > last)
                        last = fraction
                        started.continuation.yield()
                    }
                    #expect(last == 1)
                }
            }
            var arrivals = started.stream.makeAsyncIterator()
            for _ in 0..<4 { await arrivals.next() }
            for _ in 0..<1000 {
                child.completeUnit()
                await Task.yield()
            }
        }
    }

    @Test func readerEndsWhenItsTaskIsCancelled() async {
        let progress = Progress(totalUnitCount: 1)
        for _ in 0..<200 {
            let started = AsyncStream<Void>.makeStream()
            let reader = Task {
                var count = 0
                for await _ in progress.fractions {
                    count += 1
                    started.continuation.finish()
                }
                return count
            }
            for await _ in started.stream {}
            reader.cancel()
            #expect(await reader.value == 1)
        }
    }

    // MARK: Misuse

    private func expect(
        _ result: ExitTest.Result?, says sentence: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains(sentence), "said: \(text)", sourceLocation: sourceLocation)
    }

    @Test func childOfTwoParentsStopsTheProgram() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (a, b) = (Progress(totalUnitCount: 1), Progress(totalUnitCount: 1))
            let child = Progress(totalUnitCount: 3, parent: a, pendingUnitCount: 1)
            b.addChild(child, withPendingUnitCount: 1)
            a.cancel()
        }
        expect(result, says: "(0 of 3 units, 0 %) has a parent already: add each progress to one")
    }

    @Test func cycleOfProgressesStopsTheProgram() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let root = Progress(totalUnitCount: 3)
            let child = Progress(totalUnitCount: 1, parent: root, pendingUnitCount: 1)
            Progress(totalUnitCount: 2, parent: child, pendingUnitCount: 1)
                .addChild(root, withPendingUnitCount: 1)
        }
        expect(result, says: "(0 of 2 units, 0 %) or above it and cannot be its child")
    }

    @Test func becomingCurrentTwiceStopsTheProgram() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let progress = Progress(totalUnitCount: 3)
            progress.becomeCurrent(withPendingUnitCount: 1)
            progress.becomeCurrent(withPendingUnitCount: 1)
        }
        expect(result, says: "is current on this thread already: call resignCurrent() first")
    }

    @Test func resigningWhenNotCurrentStopsTheProgram() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (outer, inner) = (Progress(totalUnitCount: 3), Progress(totalUnitCount: 3))
            outer.becomeCurrent(withPendingUnitCount: 1)
            inner.becomeCurrent(withPendingUnitCount: 1)
            outer.resignCurrent()
        }
        expect(result, says: "is not current on this thread: call resignCurrent() once for each")
    }
}
