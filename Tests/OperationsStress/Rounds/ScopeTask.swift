import Operations

/// A task that opens a scope with a queue, and has to return when that queue is empty.
final class ScopeTask: Sendable {
    private let step: Step
    private let works: [Work]
    private let bodies: [@Sendable () -> Void]
    private let home: Home
    private let tasks: Rendezvous
    private let suspends: Bool

    init(
        _ step: Step, _ works: [Work], _ bodies: [@Sendable () -> Void], _ home: Home,
        _ round: Round
    ) {
        (self.step, self.works, self.bodies) = (step, works, bodies)
        (self.home, tasks, suspends) = (home, round.tasks, round.plan.suspends)
    }

    func begin() {
        tasks.enter()
        Task.detached { await self.run() }
    }

    private func run() async {
        do {
            try await withOperationQueue(width: [1, 2, -1][step.style % 3]) { queue in
                Adder.add(bodies, as: step, to: queue, suspends: suspends)
            }
        } catch {
            home.report("the scope of step \(step.id) threw \(error)")
        }
        for work in works where !work.hasEnded {
            home.report("the scope of step \(step.id) returned before its work had ended")
        }
        tasks.leave()
    }
}
