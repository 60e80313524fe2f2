import Operations
import OperationsRuntime
import Synchronization

/// What the model knows of one queue of a round.
final class Home: Sendable {
    private struct State {
        var inside = 0
        var highest = 0
        var barriers = 0
        /// The number of the last work that has started, for each thread and level.
        var started: [Int: Int] = [:]
        /// The number of the last barrier that has begun, for each thread.
        var begun: [Int: Int] = [:]
        /// The number of the last barrier that has ended, for each thread.
        var ended: [Int: Int] = [:]
    }

    let index: Int
    private let state = Locked(State())
    private let isCounting: Bool
    private let isInOrder: Bool
    private let width: Int?
    /// Whether all operations may be cancelled together. Barriers may be dropped then, so that what
    /// comes behind them may start.
    let cancelsAll: Bool
    let mayDropBlocks: Bool
    private let violations: Violations

    init(_ index: Int, of plan: Plan, _ violations: Violations) {
        self.index = index
        self.violations = violations
        isInOrder = plan.isInOrder(index)
        isCounting = plan.counts || isInOrder
        width = plan.greatestWidth(of: index)
        mayDropBlocks = plan.mayDropBlocks(of: index)
        cancelsAll = plan.steps.contains {
            $0.kind == .cancels && $0.target == nil && $0.queue == index
        }
    }

    /// Makes the model of a queue of which nothing is known, such as that of a group.
    init(unwatched index: Int, _ violations: Violations) {
        self.index = index
        self.violations = violations
        (isInOrder, isCounting, width) = (false, false, nil)
        (mayDropBlocks, cancelsAll) = (false, false)
    }

    func report(_ violation: String) { violations.add("queue \(index): \(violation)") }

    func enter(_ work: Work) {
        guard isCounting else { return }
        let place = work.place
        let wrong: [String] = state.withLock { state in
            var wrong: [String] = []
            state.inside += 1
            if let width, state.inside > width {
                wrong.append("\(state.inside) run at the same time, and the width is \(width)")
            }
            if state.barriers > 0 { wrong.append("step \(work.step) began beside a barrier") }
            guard place.thread >= 0 else { return wrong }
            if place.number < state.begun[place.thread, default: 0] {
                wrong.append("step \(work.step) began after a barrier that was added later")
            }
            if !cancelsAll, place.barrier > state.ended[place.thread, default: 0] {
                wrong.append("step \(work.step) began before the end of a barrier before it")
            }
            if isInOrder, let level = place.level {
                let key = place.thread * 8 + level
                let last = state.started[key, default: 0]
                if place.number < last {
                    wrong.append(
                        "addition \(place.number) (step \(work.step)) began after addition \(last)")
                }
                state.started[key] = place.number
            }
            return wrong
        }
        for violation in wrong { report(violation) }
    }

    func leave() {
        guard isCounting else { return }
        state.withLock { $0.inside -= 1 }
    }

    /// A piece of a task begins, of which the model only knows that it runs.
    func enterPiece(_ step: Int) {
        Heartbeat.beat()
        guard isCounting else { return }
        let (inside, barriers) = state.withLock { state in
            state.inside += 1
            return (state.inside, state.barriers)
        }
        if let width, inside > width {
            report("\(inside) run at the same time with a piece, and the width is \(width)")
        }
        if barriers > 0 { report("a piece of step \(step) began beside a barrier") }
    }

    func beginBarrier(_ place: Place) {
        Heartbeat.beat()
        guard isCounting else { return }
        let (inside, barriers) = state.withLock { state in
            state.barriers += 1
            state.begun[place.thread] = max(place.number, state.begun[place.thread, default: 0])
            return (state.inside, state.barriers)
        }
        if inside > 0 { report("a barrier began beside \(inside) that ran") }
        if barriers > 1 { report("two barriers ran at the same time") }
    }

    func endBarrier(_ place: Place) {
        Heartbeat.beat()
        guard isCounting else { return }
        state.withLock { state in
            state.barriers -= 1
            state.ended[place.thread] = max(place.number, state.ended[place.thread, default: 0])
        }
    }
}
