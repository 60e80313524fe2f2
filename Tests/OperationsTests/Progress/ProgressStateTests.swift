import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import Operations

/// Orders of events that a test of `Progress` cannot force, because they depend on which thread is
/// first.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ProgressStateTests {
    /// Two threads raise a child's count, and the first of them is the last to reach the parent.
    @Test func lateReportDoesNotReplaceANewerOne() {
        var (parent, child) = (ProgressState(total: 1), ProgressState(total: 4))
        let identity = Progress.discreteProgress(totalUnitCount: 4)
        parent.childAdded(identity, units: 1)
        let early = child.completedChanged(to: 1)
        let late = child.completedChanged(to: 3)
        _ = parent.childReported(ObjectIdentifier(identity), late.report)
        let version = parent.version
        let passedOn = parent.childReported(ObjectIdentifier(identity), early.report)
        #expect(parent.fraction == 0.75)
        #expect(parent.version == version)
        // Further up the newer one may not have arrived yet, so it is passed on in any case.
        #expect(passedOn?.report.fraction == 0.75)
    }

    @Test func changeWithoutEffectIsNotPropagated() {
        var (parent, child) = (ProgressState(total: 1), ProgressState(total: 4))
        let identity = Progress.discreteProgress(totalUnitCount: 4)
        #expect(child.changeForParent() == nil)
        parent.childAdded(identity, units: 1)
        let cancelled = child.cancelRequested()
        #expect(cancelled != nil)
        if let report = cancelled?.propagation.report {
            let passedOn = parent.childReported(ObjectIdentifier(identity), report)
            #expect(passedOn == nil)
        }
        let begun = child.completedChanged(to: 1).report
        let passedOn = parent.childReported(ObjectIdentifier(identity), begun)
        #expect(passedOn?.report.fraction == 0.25)
    }

    @Test func roundingErrorsEndWithTheLastChild() {
        var parent = ProgressState(total: 30)
        let children = (0..<3).map { _ in Progress.discreteProgress(totalUnitCount: 1) }
        for child in children { parent.childAdded(child, units: 10) }
        for step in 1...999 {
            for child in children {
                let report = ProgressState.Report(
                    version: UInt64(step), fraction: Double(step) / 1000, isFinished: false)
                _ = parent.childReported(ObjectIdentifier(child), report)
            }
        }
        for child in children {
            let report = ProgressState.Report(version: 1000, fraction: 1, isFinished: true)
            _ = parent.childReported(ObjectIdentifier(child), report)
        }
        #expect(parent.fraction == 1)
    }

    @Test func readerThatMissedAChangeDoesNotWait() async {
        let progress = Progress(totalUnitCount: 2)
        let version = progress.state.withLock { $0.version }
        progress.completedUnitCount = 1
        await progress.change(after: version)
        #expect(progress.fractionCompleted == 0.5)
    }

    /// The cancellation comes before the reader waits, so no later event would wake the reader.
    @Test func readerOfACancelledTaskDoesNotWait() async {
        let progress = Progress(totalUnitCount: 2)
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            let version = progress.state.withLock { $0.version }
            await progress.change(after: version)
            #expect(Task.isCancelled)
        }.value
    }

    @Test func unfinishedChildCountsForAtMostItsUnits() {
        var parent = ProgressState(total: 10)
        let child = Progress.discreteProgress(totalUnitCount: 2)
        parent.childAdded(child, units: 5)
        _ = parent.childReported(
            ObjectIdentifier(child), .init(version: 1, fraction: 1.5, isFinished: false))
        #expect(parent.fraction == 0.5)
        #expect(parent.completed == 0)
    }

    @Test func oneThreadAtATimeCallsHandlers() {
        var state = ProgressState(total: 1)
        _ = state.cancellationHandlerSet({})
        #expect(state.cancelRequested()?.mustCall == true)
        #expect(state.nextCall() != nil)
        // The thread that runs the first handler comes back for this one.
        #expect(!state.cancellationHandlerSet({}).mustCall)
        #expect(state.nextCall() != nil)
        #expect(state.nextCall() == nil)
        #expect(state.cancellationHandlerSet({}).mustCall)
    }
}
