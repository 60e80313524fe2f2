// A wait that can never end stops the program with an explanation instead of hanging, or is
// reported and given up.

import OperationsRuntime

extension BlockedWait {
    /// Records and checks a wait of the calling task. The caller ends the wait.
    ///
    /// - Parameter mustEnd: whether the caller cannot go on before what it waits for has ended.
    ///   Then a wait that can never end stops the program in any case.
    static func task(
        _ target: @autoclosure () -> Target, mustEnd: Bool = false
    ) -> BlockedWait? {
        guard let operation = TaskContext.operation else { return nil }
        var wait = begin(target(), inside: [operation])
        // A test's driver reports stuck operations when nothing else is left to run.
        if TaskContext.queue?.driver == nil { wait?.check(mustEnd: mustEnd) }
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
        var wait = begin(.capacity(queue, below: limit), inside: [operation])
        let isSearched = TaskContext.queue === queue || isWaitedInside(queue)
        if isSearched, TaskContext.queue?.driver == nil { wait?.check() }
        return wait
    }

    /// Refuses the wait if it cannot end: stops the program, or reports the mistake, cancels the
    /// operation that waits, and marks the wait as refused.
    ///
    /// The wait is recorded before the check, so if two waits close a circle at the same time, at
    /// least one of them sees the other.
    mutating func check(mustEnd: Bool = false) {
        // Two searches, one after the other, must find a circle: see `DeadlockSearch`.
        guard mayHoldBackOthers, DeadlockSearch.circle(of: self) != nil,
            let circle = DeadlockSearch.circle(of: self)
        else { return }
        let sentence = Self.sentence(about: circle)
        if mustEnd { misuse(sentence) }
        let misuse = OperationMisuse.endlessWait(sentence)
        misuse.refuse(waitInside: inside.last)
        refusal = misuse
    }

    /// - Parameter circle: The steps from the operation that waits to one that contains the wait.
    private static func sentence(about circle: [DeadlockSearch.Step]) -> String {
        let (first, last) = (circle[0], circle[circle.count - 1])
        let waiter = first.operation
        if circle.count == 1, first.next === waiter, case .wait(let target) = first.blocker.kind {
            return sentence(about: waiter, waitingForItselfBy: target)
        }
        var parts = circle.map(\.clause)
        var remedies: [String] = []
        if let queue = first.capacityQueue { remedies.append(remedy(forCapacityIn: queue)) }
        for step in circle {
            switch step.blocker.kind {
            case .slots(let queue, _):
                remedies = [
                    "add \(step.operation.label) to another queue",
                    "give \(queue.label) a larger maxConcurrentOperationCount",
                ]
            case .permits(let need):
                remedies = [
                    need.budget.isOfKey
                        ? "wait outside of what has that key"
                        : "give \(need.budget.label) more permits"
                ]
            default: break
            }
        }
        if circle.count > 1, last.next !== waiter {
            parts.append("\(waiter.label) was started inside of \(last.next.label)")
        }
        remedies.append("remove this wait")
        if first.capacityQueue == nil {
            remedies.append(
                "let what comes after it be an operation that depends on \(first.next.label)")
        }
        return "\(parts.joined(separator: "; ")); so none of them would ever finish: "
            + remedies.joined(separator: ", or ")
    }

    private static func sentence(
        about waiter: Operation, waitingForItselfBy target: Target
    ) -> String {
        switch target {
        case .operation, .operations:
            return "\(waiter) waits for itself and would never finish: remove this wait"
        case .queue(let queue, _):
            return "\(waiter) waits for all operations of its own \(queue.label), itself included, "
                + "and would never finish: remove this wait"
        case .capacity(let queue, let limit):
            return "\(waiter) waits for fewer than \(limit) operations in its own \(queue.label), "
                + "where no fewer than that wait for this, itself included, and would never finish"
                + ": \(remedy(forCapacityIn: queue)), or remove this wait"
        }
    }

    private static func remedy(forCapacityIn queue: OperationQueue) -> String {
        "let the operations of \(queue.label) add to another queue"
    }
}

extension DeadlockSearch.Step {
    /// The queue for whose capacity the operation waits.
    fileprivate var capacityQueue: OperationQueue? {
        guard case .wait(.capacity(let queue, _)) = blocker.kind else { return nil }
        return queue
    }

    /// What messages say about the step: the reason, and how the next operation comes in.
    fileprivate var clause: String {
        let name = operation.label
        func sentence(_ names: [String]) -> String { blocker.reason(names).sentence(about: name) }
        switch blocker.kind {
        case .wait(let target):
            let place = operation.retainedQueue()?.label
            switch target {
            case .operation, .operations:
                return Blocker.Reason.waitingInBody(for: [next.label])
                    .sentence(about: name, on: place)
            case .queue, .capacity:
                return Blocker.Reason.waitingInBody(for: target.labels)
                    .sentence(about: name, on: place) + ", one of which is \(next.label)"
            }
        case .permits:
            let holders = blocker.operations.map(\.label).sorted()
            return "\(sentence([])), and \(holders.joined(separator: " and ")) "
                + "\(holders.count == 1 ? "holds" : "hold") what it needs"
        case .permitLine: return "\(sentence([])), \(next.label) first"
        case .slots: return sentence(blocker.operations.map(\.label).sorted())
        default: return sentence([next.label])
        }
    }
}

// A thread that waits in an operation, or for the end of an operation or a queue.
//
// Before a thread blocks for an end, the other operations of a cancellation are cancelled, and what
// the thread waits for is promoted to the importance of the caller. A wait that can never end is
// refused.

extension Operation {
    /// Blocks the calling thread until the latch is open, which the end of the operation opens.
    final func blockThread(at latch: Latch) {
        CancelRound.willBlock()
        OperationsDiagnostics.waitBegins(for: label, in: retainedQueue())
        defer { OperationsDiagnostics.waitEnds() }
        suspectSilence()
        promoteForWait()
        latch.waitOnWorker(for: .operation(self))
    }

    /// Records that the calling task waits for the end of the operation, until the result is ended.
    ///
    /// - Returns: nil if the wait need not be recorded.
    final func recordWaitOfTask() -> BlockedWait? {
        suspectSilence()
        return BlockedWait.task(.operation(self))
    }

    /// Has the watch ask an operation that was started by hand, or will be: the wait ends only when
    /// the operation announces its end.
    private func suspectSilence() {
        let state = status
        guard state.phase == .created || state.awaitsAnnouncement else { return }
        SilenceWatch.suspect(self)
    }
}

extension OperationQueue {
    /// Blocks the calling thread until the latch is open, which the end of all operations opens.
    final func blockThread(at latch: Latch) {
        CancelRound.willBlock()
        OperationsDiagnostics.waitBegins(for: "the operations of \(label)", in: self)
        defer { OperationsDiagnostics.waitEnds() }
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
        guard MainThread.isCurrent else { return }
        let isHeldUp = MainActorBodies.mainThreadBlocks(for: name())
        guard
            isHeldUp || OperationQueue.main.operationCount > 0
                || queue()?.runsOnMainThread == true
        else { return }
        handler(.mainThreadWait(name()))
    }

    /// The wait that ``waitBegins(for:in:)`` was called for has ended.
    static func waitEnds() {
        if MainThread.isCurrent { MainActorBodies.mainThreadGoesOn() }
    }
}

extension Latch {
    /// Waits like ``waitOnWorker()``. A wait that cannot end is refused.
    ///
    /// A wait may become endless later, when a dependency or another operation is added; so the
    /// wait is checked again from time to time.
    func waitOnWorker(for target: @autoclosure () -> BlockedWait.Target) {
        DrivenThread.refuseToBlock(for: target().labels.listed)
        let operations = ThreadContext.operationsInside + [TaskContext.operation].compactMap { $0 }
        guard var wait = BlockedWait.begin(target(), inside: operations, isRepeated: true) else {
            return waitOnWorker()
        }
        defer { wait.end() }
        wait.check()
        if wait.refusal != nil { return }
        WorkerPool.blocking {
            var pause: UInt64 = 20_000_000
            while wait.refusal == nil, !self.wait(nanoseconds: pause) {
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
