// The steps of an operation with options. Attempts.md gives their order, and says why none is lost.

import OperationsRuntime

extension Operation {
    // MARK: Arriving

    /// Prepares the operation's options for its queue. The operation has its place in the queue,
    /// and is in the phase *checkingReadiness* on the caller's behalf.
    fileprivate final func arrive(_ controller: AttemptController, in queue: OperationQueue) {
        let plan = controller.plan
        let time = queue.time
        let now = time.now()
        let keys = plan.hasKeys ? queue.keys : nil
        var costs = plan.costs
        for rate in plan.rates {
            let bucket = rate.limit.bucket(for: rate.key, time: time)
            costs.append(PermitRequest.Cost(budget: bucket, permits: rate.tokens))
        }
        var delay = plan.delay ?? .zero
        if let keys {
            enter(keys, plan)
            if let group = plan.group {
                let share = Share(group: keys.group(group.key), weight: group.weight)
                queue.setShare(share, of: self)
            }
            costs += keys.costs(of: plan)
            delay = max(delay, enterTimes(keys, plan, now: now) ?? .zero)
        }
        let deadline = plan.deadline.map { now + $0() }
        let isChange = controller.arrive(
            .init(
                time: time, random: queue.random, keys: keys,
                permitRequest: costs.isEmpty ? nil : PermitRequest(costs, for: self),
                deadline: deadline, firstTick: now + delay))
        guard isChange else {
            if let keys { leave(keys, plan) }
            return
        }
        if delay > .zero, let change = exchange({ $0.putOnHold() }) {
            let hold = Hold(cause: .delay, end: now + delay)
            setTimer(of: controller, controller.event { $0.holdBegan(hold) }, after: delay)
            perform(change)
        }
        if let deadline {
            // Operations of its priority with a later deadline, or with none, now sort behind it.
            setDeadline(Int64(clamping: deadline.wholeNanoseconds))
            guard deadline > now else { return passDeadline(controller) }
            controller.keep(
                deadlineTimer: time.schedule(after: deadline - now) { [self] in
                    passDeadline(controller)
                })
        }
    }

    /// Sets the timer of a hold or of an attempt.
    fileprivate func setTimer(of controller: AttemptController, _ serial: Int, after time: Duration)
    {
        let timer = controller.time.schedule(after: time) { [self] in
            perform(controller.event { $0.timerFired(for: serial) }, controller)
        }
        controller.keep(timer, for: serial)
    }

    fileprivate func perform(
        _ action: AttemptController.Attempts.Action, _ controller: AttemptController
    ) {
        switch action {
        case .none: break
        case .releaseHold: releaseHold()
        case .expire: expire(controller)
        case .decide(let timer):
            timer?.cancel()
            decide(controller)
        case .conclude: conclude()
        }
    }

    // MARK: Attempts

    private func decide(_ controller: AttemptController) {
        guard controller.plan.mayRunAgain else { return conclude() }
        if holdForNextAttempt(controller) { return }
        // The operation counts as one unit, not each of its attempts.
        if existingExtras != nil { withExtras { $0.isCounted = false } }
        retainedQueue()?.activeProgress?.completeUnit()
        conclude()
    }

    /// Puts the operation back into the phase *waiting*, for another attempt; returns false if
    /// there is none.
    private func holdForNextAttempt(_ controller: AttemptController) -> Bool {
        guard !status.isStopped, let queue = retainedQueue() else { return false }
        let failure = withExtras { $0.failure }
        // A queue that is shut down has no further runs.
        if failure == nil, queue.hasStep(.refusing) { return false }
        guard let hold = controller.nextHold(after: failure?.error) else { return false }
        let serial = controller.event { $0.holdBegan(hold) }
        taskBody?.prepareTaskAgain()
        let (change, handlers) = withExtras { extras -> (Change?, [CancelHandler]) in
            // Checked with the lock held: `passDeadline` sets the flag first, and fails the
            // operation after that, with this lock held. A failure that came after the decision was
            // not part of it, and stays.
            guard !controller.hasPassedDeadline, extras.failure === failure,
                let change = exchange({ $0.attemptEnded() })
            else { return (nil, []) }
            let handlers = extras.cancelHandlers
            extras.cancelHandlers = handlers.filter { !$0.isOfAttempt }
            extras.failure = nil
            return (change, handlers)
        }
        guard let change else { return false }
        withExtendedLifetime(handlers) {}
        // The operation is on hold: no thread starts it again before this method has set the timer.
        let delay = max(.zero, hold.end - controller.time.now())
        if queue.isObserved { queue.recordReturn(of: self, error: failure?.error, delay: delay) }
        failure?.observe()
        controller.permitRequest?.release(keepsTicket: false)
        // A cancelled operation may have left the queue by now, and the slot is still taken.
        if change.actions.contains(.returnSlot) { queue.returnSlot(of: self) }
        perform(change)
        // The thread that shuts the queue down looks for holds after it has said so.
        if failure == nil, queue.hasStep(.refusing) {
            self.cancel(because: queue.shutDownReason)
        }
        let wait = hold.end - controller.time.now()
        if wait > .zero {
            setTimer(of: controller, serial, after: wait)
        } else {
            perform(controller.event { $0.timerFired(for: serial) }, controller)
        }
        return true
    }

    // MARK: Running out of time

    private func expire(_ controller: AttemptController) {
        guard let timeout = controller.plan.timeout else { return }
        let error = OperationTimeout(operation: label, duration: timeout)
        fail(error)
        if !status.has(.cancelled) {
            let context = ThreadContext.current
            let outer = context.operationState.stopped
            context.operationState.stopped = opaque
            cancel()
            context.operationState.stopped = outer
            // An override may not call `super`.
            markExpired()
            reportOutOfTime(error)
        }
        perform(controller.event { $0.expiryEnded() }, controller)
    }

    private func reportOutOfTime(_ error: any Error) {
        guard let queue = retainedQueue(), queue.isObserved else { return }
        queue.recordOutOfTime(self, error)
    }

    private func passDeadline(_ controller: AttemptController) {
        let state = status
        guard state.phase != .finished else { return }
        controller.event { $0.deadlinePassed() }
        let error = OperationDeadlineExceeded(
            operation: label, hasStarted: state.isAtWork || controller.hasBegun)
        fail(error)
        reportOutOfTime(error)
        note(.outOfTime(error))
        // From here on the operation cannot begin, however long its `cancel()` takes.
        _ = announceCancellation()
        CancelRound.cancel([self])
    }
}

extension AttemptController: OperationCompanion {
    var mayRunAgain: Bool { plan.mayRunAgain }

    /// Throws if the operation costs more permits than a budget has ever had.
    func checkAddition(of operation: Operation) throws(OperationMisuse) {
        for cost in PermitRequest(plan.costs, for: operation).costs {
            let permits = cost.budget.greatestPermits
            guard cost.permits > permits else { continue }
            throw .cost(cost.permits, of: cost.budget.label, permits: permits, by: operation.label)
        }
        for rate in plan.rates { try rate.limit.check(rate.tokens, for: operation) }
    }

    func arrived(_ operation: Operation, in queue: OperationQueue) {
        operation.arrive(self, in: queue)
    }

    /// Acquires the permits of the operation. If there are not enough, the operation enters the
    /// permit queues.
    func mayBeClaimed(refuse: () -> Bool) -> Bool {
        permitRequest?.acquireOrEnqueue(refuse: refuse) ?? true
    }

    /// Whether the queue was suspended since the operation was claimed together with its permits,
    /// or the operation no longer holds the permits.
    func mustReturn(_ operation: Operation, to queue: OperationQueue) -> Bool {
        guard let permitRequest else { return false }
        // A cancelled operation needs no permits. It may leave a suspended queue, unless it runs
        // code of users.
        let state = operation.status
        if state.isStopped {
            return operation.needsSlotToLeave(state) && queue.snapshot { $0.slots.isSuspended }
        }
        return !permitRequest.isGranted || queue.snapshot { $0.slots.isSuspended }
    }

    func claimIsReturned() { permitRequest?.release(keepsTicket: true) }

    func priorityChanged(of operation: Operation) { permitRequest?.priorityChanged() }

    func attemptBegan() -> Int {
        permitRequest?.attemptBegan()
        return event { $0.attemptBegan() }
    }

    /// Starts the timer for the timeout of the attempt.
    func willStart(_ operation: Operation, attempt: Int) {
        guard let timeout = plan.timeout else { return }
        operation.setTimer(of: self, attempt, after: timeout)
    }

    func bodyReturned(_ operation: Operation) {
        operation.perform(event { $0.bodyReturned() }, self)
    }
}

extension _OperationMembers {
    /// The number of the current or last attempt of the work, from 1.
    ///
    /// It rises with each attempt that ``OperationTrait/retry(_:backoff:if:)`` allows, and starts
    /// again with each run of a periodic operation (``OperationTrait/every(_:)``). The body finds
    /// it in `Operation.current?.attempt`.
    public var attempt: Int { max(1, attemptController?.attempt ?? 1) }
}

extension OperationOptions {
    var hasKeys: Bool {
        joinedKey != nil || latestKey != nil || debounce != nil || throttle != nil
            || group != nil || !limits.isEmpty
    }
}

extension Operation {
    /// The number of attempts that have ended, of an operation that is on hold before the next one.
    package final var endedAttempts: Int { attemptController.map { max(1, $0.attempt) } ?? 1 }
}
