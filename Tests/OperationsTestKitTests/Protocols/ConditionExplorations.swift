import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

/// The protocol of conditions on dependencies, which `Models/conditions.pml` also describes: the
/// real operations, one step at a time.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ConditionExplorations {
    enum Event: CaseIterable { case none, remove, cancelAll, dependents }

    /// The dependent needs the success of an operation, and gets a second such dependency at any
    /// time. Either fails or not.
    @Test(arguments: Event.allCases, [true, false])
    func unmetConditionsDecideBeforeTheStart(event: Event, firstFails: Bool) throws {
        try TestScheduler.explore(schedules: rounds(300)) { scheduler in
            let queue = scheduler.makeQueue()
            let others = scheduler.makeQueue()
            let hasBegun = Tally()
            let first = others.add("first") {
                await Task.yield()
                if firstFails { throw NoConnection() }
            }
            let second = others.add("second") { throw NoConnection() }
            let dependent = TypedOperation {
                hasBegun.increment()
                await Task.yield()
            }
            dependent.name = "dependent"
            dependent.addDependency(first, on: .success)
            let onFailure = BlockOperation {}
            onFailure.addDependency(dependent, on: .failure)
            queue.addOperations([dependent, onFailure], waitUntilFinished: false)
            let late = TestRecorder<Bool>()
            others.add("link") {
                late.record(hasBegun.value > 0)
                dependent.addDependency(second, on: .success)
            }
            others.add("event") {
                switch event {
                case .none: break
                case .remove: dependent.removeDependency(first)
                case .cancelAll: queue.cancelAllOperations()
                case .dependents: first.cancel(.withDependents)
                }
            }
            try scheduler.run()
            // A dependency that comes after the start changes nothing; one that comes before it
            // and fails prevents the start.
            let isLate = late.events == [true]
            try scheduler.check(
                isLate == (hasBegun.value == 1), "begun \(hasBegun.value), late \(isLate)")
            if event == .none || event == .remove {
                try scheduler.check(
                    dependent.isCancelled != isLate, "cancelled \(dependent.isCancelled)")
            }
            if firstFails, event == .none || event == .cancelAll {
                try scheduler.check(
                    hasBegun.value == 0, "the dependent began without its condition")
            }
            try scheduler.check(dependent.isFinished && onFailure.isFinished)
        }
    }
}
