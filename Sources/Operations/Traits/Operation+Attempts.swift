// The steps of an operation with options. Attempts.md gives their order, and says why none is lost.

extension Operation {
    // MARK: Arriving

    /// Prepares the operation's options for its queue, and then checks its readiness. The operation
    /// has its slot in the queue, and is in the phase *checkingReadiness* on the caller's behalf.
    final func arrive(in queue: OperationQueue) {
        if let attemptController { arrive(attemptController, in: queue) }
        checkReadiness()
    }

    private func arrive(_ run: AttemptController, in queue: OperationQueue) {
        let plan = run.plan
        let time = queue.time
        let now = time.now()
        let keys = plan.hasKeys ? queue.keys : nil
        var costs = plan.costs
        if let keys {
            enter(keys, plan)
            costs += keys.costs(of: plan)
        }
        let permitRequest = costs.isEmpty ? nil : PermitRequest(costs, for: self)
        let isChange = run.arrive(
            at: now, by: time, random: queue.random, keys: keys, permitRequest: permitRequest)
        guard isChange else {
            if let keys { leave(keys, plan) }
            return
        }
        if let delay = plan.delay, delay > .zero, let change = exchange({ $0.putOnHold() }) {
            hold(run, run.beginHold(.delay(until: now + delay)), for: delay)
            perform(change)
        }
        if let left = plan.deadline?() {
            run.setDeadline(now + left)
            // Operations of its priority with a later deadline, or with none, now sort behind it.
            setDeadline(Int64(clamping: (now + left).wholeNanoseconds))
            guard left > .zero else { return passDeadline(run) }
            run.keep(deadlineTimer: time.schedule(after: left) { [self] in passDeadline(run) })
        }
    }

    /// Ends the hold when the time is over. The operation is on hold already.
    private func hold(_ run: AttemptController, _ number: Int, for duration: Duration) {
        guard duration > .zero else {
            if run.endHold(number) { releaseHold() }
            return
        }
        let timer = run.time.schedule(after: duration) { [self] in
            if run.endHold(number) { releaseHold() }
        }
        run.keep(timer, ofHold: number)
    }

    // MARK: Attempts

    /// Starts the timer for the timeout of an attempt; a worker is about to call `start()`.
    final func startTimeout(of run: AttemptController, attempt serial: Int) {
        guard let timeout = run.plan.timeout else { return }
        let timer = run.time.schedule(after: timeout) { [self] in
            expire(run, attempt: serial, after: timeout)
        }
        run.keep(timer, ofAttempt: serial)
    }

    /// Ends the operation, or puts it on hold for its next attempt; the body has returned or
    /// thrown.
    final func bodyReturned() {
        guard let run = attemptController else { return conclude() }
        switch run.bodyReturned() {
        case .unplanned: conclude()
        case .own: decide(run)
        case .inherited: break
        }
    }

    private func decide(_ run: AttemptController) {
        guard run.plan.mayRunAgain else { return conclude() }
        if holdForNextAttempt(run) { return }
        // The operation counts as one unit, not each of its attempts.
        retainedQueue()?.activeProgress?.completeUnit()
        conclude()
    }

    /// Puts the operation back into the phase *waiting*, for another attempt; returns false if
    /// there is none.
    private func holdForNextAttempt(_ run: AttemptController) -> Bool {
        guard !status.isStopped, let queue = retainedQueue() else { return false }
        let failure = withExtras { $0.failure }
        guard let hold = run.hold(after: failure?.error) else { return false }
        let number = run.beginHold(hold)
        prepareBodyAgain()
        let (change, handlers) = withExtras { extras -> (Change?, [CancelHandler]) in
            // Checked with the lock held: `passDeadline` sets the flag first, and fails the
            // operation after that, with this lock held. A failure that came after the decision was
            // not part of it, and stays.
            guard !run.hasPassedDeadline, extras.failure === failure,
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
        let delay = max(.zero, hold.end - run.time.now())
        if queue.isWatched { queue.recordReturn(of: self, error: failure?.error, delay: delay) }
        failure?.observe()
        run.permitRequest?.release(keepsTicket: false)
        perform(change)
        self.hold(run, number, for: hold.end - run.time.now())
        return true
    }

    // MARK: Running out of time

    private func expire(_ run: AttemptController, attempt serial: Int, after timeout: Duration) {
        guard run.beginExpiry(ofAttempt: serial) else { return }
        let error = OperationTimeout(operation: label, duration: timeout)
        fail(error)
        if !status.has(.cancelled) {
            let context = ThreadContext.current
            let outer = context.stopsBodyOf
            context.stopsBodyOf = .passUnretained(self)
            cancel()
            context.stopsBodyOf = outer
            // An override may not call `super`.
            markExpired()
            notifyOutOfTime(error)
        }
        if run.endExpiry() { decide(run) }
    }

    /// Marks the attempt as expired, which only the body sees as a cancellation.
    final func markExpired() { transition { $0.expired() } }

    private func passDeadline(_ run: AttemptController) {
        let state = status
        guard state.phase != .finished else { return }
        run.recordPassedDeadline()
        let error = OperationDeadlineExceeded(
            operation: label, hasStarted: state.isAtWork || run.hasBegun)
        fail(error)
        notifyOutOfTime(error)
        note(.failure(error))
        // From here on the operation cannot begin, however long its `cancel()` takes.
        _ = announceCancellation()
        CancelRound.cancel([self])
    }
}

extension OperationOptions {
    var hasKeys: Bool { joinedKey != nil || latestKey != nil || !limits.isEmpty }
}
