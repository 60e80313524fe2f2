import Operations
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

/// The protocol of attempts, which `Models/attempts.pml` also describes: the real operations, one
/// step at a time. Timeouts, the deadline, the ends of the bodies and a cancellation come at the
/// same moments.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct AttemptExplorations {
    enum Event: CaseIterable { case none, cancel, cancelInPredicate, deadline }

    @Test(arguments: Event.allCases, [true, false])
    func oneDecisionFollowsEachAttempt(event: Event, fails: Bool) throws {
        try TestScheduler.explore(schedules: rounds(300)) { scheduler in
            let queue = scheduler.makeQueue()
            let clock = scheduler.clock
            let (runs, decisions) = (Tally(), Tally())
            let ends = TestRecorder<Bool>()
            let operation = Locked<Operation?>(nil)
            let subject = queue.add(
                "subject", .timeout(.seconds(1)),
                .deadline(in: event == .deadline ? .seconds(2) : .seconds(60)),
                .retry(
                    1, backoff: .none,
                    if: { _ in
                        decisions.increment()
                        if event == .cancelInPredicate { operation.withLock { $0 }?.cancel() }
                        return true
                    })
            ) {
                runs.increment()
                // Ends at the moment of the timeout, whether that has come or not.
                try? await clock.sleep(for: .seconds(1))
                ends.record(Task.isCancelled)
                if fails { throw NoConnection() }
            }
            operation.withLock { $0 = subject }
            if event == .cancel {
                queue.add("cancel") {
                    try await clock.sleep(for: .seconds(1))
                    subject.cancel()
                }
            }
            try scheduler.run()
            try scheduler.check(subject.isFinished && runs.value <= 2, "\(runs.value) runs")
            try scheduler.check(ends.events.count == runs.value, "a body did not end")
            try scheduler.check(
                decisions.value <= 1 || runs.value == 2, "two decisions for one attempt")
            if event == .cancelInPredicate, decisions.value > 0 {
                try scheduler.check(
                    runs.value == 1 && subject.isCancelled, "an attempt after a cancellation")
            }
            if event == .none, fails {
                try scheduler.check(runs.value == 2, "\(runs.value) attempts of a body that fails")
            }
            operation.withLock { $0 = nil }
        }
    }
}
