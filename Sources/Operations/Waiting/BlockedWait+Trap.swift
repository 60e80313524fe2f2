// A wait that can never end stops the program with an explanation instead of hanging.

import OperationsRuntime

extension BlockedWait {
    /// Records and checks a wait of the calling task. The caller ends the wait.
    static func task(_ target: @autoclosure () -> Target) -> BlockedWait? {
        guard let operation = TaskContext.operation else { return nil }
        let wait = begin(target(), inside: [operation])
        // A test's driver reports stuck operations when nothing else is left to run.
        if TaskContext.queue?.driver == nil { wait?.check() }
        return wait
    }

    /// Records and checks a capacity wait of the calling task, like ``task(_:)``.
    ///
    /// Tasks that feed another queue wait for capacity often. The wait is only searched if the
    /// caller belongs to the same queue, or if a wait inside an operation of that queue could close
    /// a circle with this wait.
    static func task(forCapacityIn queue: OperationQueue, below limit: Int) -> BlockedWait? {
        guard let operation = TaskContext.operation else { return nil }
        // A timeout or deadline cancels the task, and with it the wait.
        if let plan = operation.attemptController?.plan, plan.timeout != nil || plan.deadline != nil
        {
            return nil
        }
        let wait = begin(.capacity(queue, below: limit), inside: [operation])
        let isSearched = TaskContext.queue === queue || isWaitedInside(queue)
        if isSearched, TaskContext.queue?.driver == nil { wait?.check() }
        return wait
    }

    /// Stops the program if the wait cannot end.
    ///
    /// The wait is recorded before the check, so if two waits close a circle at the same time, at
    /// least one of them sees the other.
    func check() {
        guard mayHoldBackOthers else { return }
        if let circle = DeadlockSearch.circle(of: self), let waiter = inside.last {
            misuse(Self.sentence(waiter, waitsFor: target, circle.first, circle.steps))
        }
    }

    private static func sentence(
        _ waiter: Operation, waitsFor target: Target, _ first: Operation,
        _ steps: [DeadlockSearch.Step]
    ) -> String {
        let place = waiter.retainedQueue().map { " on \($0.label)" } ?? ""
        var parts: [String] = []
        var remedies: [String] = []
        switch target {
        case .operation where steps.isEmpty && first === waiter,
            .operations where steps.isEmpty && first === waiter:
            return "\(waiter) waits for itself and would never finish: remove this wait"
        case .operation, .operations:
            parts.append("\(waiter.label) (executing\(place)) waits for \(first.label)")
        case .queue(let queue, _) where steps.isEmpty && first === waiter:
            return "\(waiter) waits for all operations of its own \(queue.label), itself included, "
                + "and would never finish: remove this wait"
        case .queue(let queue, _):
            parts.append(
                "\(waiter.label) (executing\(place)) waits for all operations of \(queue.label), "
                    + "one of which is \(first.label)")
        case .capacity(let queue, let limit) where steps.isEmpty && first === waiter:
            return "\(waiter) waits for fewer than \(limit) operations in its own \(queue.label), "
                + "where no fewer than that wait for this, itself included, and would never finish: "
                + "\(remedy(forCapacityIn: queue)), or remove this wait"
        case .capacity(let queue, let limit):
            parts.append(
                "\(waiter.label) (executing\(place)) waits for fewer than \(limit) operations in "
                    + "\(queue.label), one of which is \(first.label)")
            remedies.append(remedy(forCapacityIn: queue))
        }
        for step in steps {
            parts.append(sentence(of: step))
            if case .slots(let queue) = step.obstacle.kind {
                remedies = [
                    "add \(step.operation.label) to another queue",
                    "give \(queue.label) a larger maxConcurrentOperationCount",
                ]
            }
            if case .permits(let budget) = step.obstacle.kind {
                remedies = [
                    budget.isOfKey
                        ? "wait outside of what has that key" : "give \(budget.label) more permits"
                ]
            }
        }
        if let last = steps.last?.next, last !== waiter {
            parts.append("\(waiter.label) was started inside of \(last.label)")
        }
        remedies.append("remove this wait")
        if case .capacity = target {
        } else {
            remedies.append(
                "let what comes after it be an operation that depends on \(first.label)")
        }
        let chain =
            parts.count < 2
            ? parts.joined()
            : "\(parts.dropLast().joined(separator: ", ")), and \(parts.last ?? "")"
        return "\(chain), so none of them would ever finish: \(remedies.joined(separator: ", or "))"
    }

    private static func remedy(forCapacityIn queue: OperationQueue) -> String {
        "let the operations of \(queue.label) add to another queue"
    }

    private static func sentence(of step: DeadlockSearch.Step) -> String {
        let name = step.operation.label
        switch step.obstacle.kind {
        case .dependency: return "\(name) depends on \(step.next.label)"
        case .wait:
            let place = step.operation.retainedQueue().map { " on \($0.label)" } ?? ""
            return "\(name) (executing\(place)) waits for \(step.next.label)"
        case .waitForQueue(let queue):
            return "\(name) waits for all operations of \(queue.label), "
                + "one of which is \(step.next.label)"
        case .waitForCapacity(let queue):
            return
                "\(name) waits for capacity in \(queue.label), one of the operations of which is "
                + "\(step.next.label)"
        case .permits(let budget):
            let holders = step.obstacle.operations.map(\.label).sorted()
            return "\(name) cannot start while \(holders.joined(separator: " and ")) "
                + "\(holders.count == 1 ? "holds" : "hold") what it needs of \(budget.label)"
        case .permitQueue(let budget):
            return "\(name) waits in line for \(budget.label) behind \(step.next.label)"
        case .slots(let queue):
            let holders = step.obstacle.operations.map(\.label).sorted()
            let names = holders.joined(separator: " and ")
            let slots = holders.count == 1 ? "the only slot" : "the \(holders.count) slots"
            let verb = holders.count == 1 ? "holds" : "hold"
            return "\(name) cannot start while \(names) \(verb) \(slots) of \(queue.label)"
        case .order(let queue):
            return
                "\(name) cannot start before \(step.next.label), because \(queue.label) is strictly first "
                + "in, first out"
        case .barrier(let queue):
            return "\(name) is kept back by a barrier of \(queue.label) until \(step.next.label) "
                + "has finished"
        }
    }
}

// A thread that waits in an operation, or for the end of an operation or a queue.
//
// Before a thread blocks for an end, the other operations of a cancellation are cancelled, and what
// the thread waits for is promoted to the importance of the caller. A wait that can never end stops
// the program.

extension Operation {
    /// Blocks the calling thread until the latch is open, which the end of the operation opens.
    final func blockThread(at latch: Latch) {
        CancelRound.willBlock()
        OperationsDiagnostics.waitBegins(for: label, in: retainedQueue())
        promoteForWait()
        latch.waitOnWorker(for: .operation(self))
    }

    /// Records that the calling task waits for the end of the operation, until the result is ended.
    ///
    /// - Returns: nil if the wait need not be recorded.
    final func recordWaitOfTask() -> BlockedWait? { BlockedWait.task(.operation(self)) }
}

extension OperationQueue {
    /// Blocks the calling thread until the latch is open, which the end of all operations opens.
    final func blockThread(at latch: Latch) {
        CancelRound.willBlock()
        OperationsDiagnostics.waitBegins(for: "the operations of \(label)", in: self)
        promoteAllForWait()
        latch.waitOnWorker(for: .queue(self))
    }

    /// As ``Operation/recordWaitOfTask()``.
    final func recordWaitOfTask() -> BlockedWait? { BlockedWait.task(.queue(self)) }
}

extension OperationsDiagnostics {
    /// Reports a wait of the main thread that may hold up the main queue, or that holds up the
    /// queue for which it waits; waits call this before they block.
    static func waitBegins(
        for name: @autoclosure () -> String, in queue: @autoclosure () -> OperationQueue?
    ) {
        guard MainThread.isCurrent,
            OperationQueue.main.operationCount > 0 || queue()?.runsOnMainThread == true
        else { return }
        handler(.mainThreadWait(name()))
    }
}

extension Latch {
    /// Waits like ``waitOnWorker()``. A wait that cannot end stops the program.
    ///
    /// A wait may become endless later, when a dependency or another operation is added; so the
    /// wait is checked again from time to time.
    func waitOnWorker(for target: @autoclosure () -> BlockedWait.Target) {
        DrivenThread.refuseToBlock(for: target().labels.listed)
        let operations = ThreadContext.operationsInside + [TaskContext.operation].compactMap { $0 }
        guard let wait = BlockedWait.begin(target(), inside: operations, isRepeated: true) else {
            return waitOnWorker()
        }
        defer { wait.end() }
        wait.check()
        WorkerPool.shared.blocking {
            var wait = wait
            var pause: UInt64 = 20_000_000
            while !self.wait(nanoseconds: pause) {
                if let extended = wait.extended(self) {
                    // Waits inside the new operations may have relied on this one.
                    wait = extended
                    wait.check()
                } else if !wait.isCheckedByOthers {
                    wait.check()
                }
                pause = min(4 * pause, 5_000_000_000)
            }
        }
    }
}
