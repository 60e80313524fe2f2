// The way of an operation with a plan; the order of the steps, and why none is lost, is in Scheduling.md.

extension Operation {
    // MARK: Arriving

    /// It has its place in a queue, and is *asking* on the caller's behalf.
    final func arrive(in queue: OperationQueue) {
        if let attemptController { arrive(attemptController, in: queue) }
        ask()
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
        let claim = costs.isEmpty ? nil : PermitRequest(costs, for: self)
        let isChange = run.arrives(
            at: now, by: time, random: queue.random, keys: keys, claim: claim)
        guard isChange else {
            if let keys { leave(keys, plan) }
            return
        }
        if let delay = plan.delay, delay > .zero, let change = update({ $0.putOnHold() }) {
            hold(run, run.holds(.delay(until: now + delay)), for: delay)
            if change.after.has(.observed) { notifyObservers() }
        }
        if let left = plan.deadline?() {
            run.has(deadline: now + left)
            // Others of its priority go behind it.
            setDeadline(Int64(clamping: (now + left).wholeNanoseconds))
            guard left > .zero else { return passDeadline(run) }
            run.keep(deadlineTimer: time.schedule(after: left) { [self] in passDeadline(run) })
        }
    }

    /// Lets it go on when the time is over. It is held already.
    private func hold(_ run: AttemptController, _ number: Int, for duration: Duration) {
        guard duration > .zero else {
            if run.endsHold(number) { releaseHold() }
            return
        }
        let timer = run.time.schedule(after: duration) { [self] in
            if run.endsHold(number) { releaseHold() }
        }
        run.keep(timer, ofHold: number)
    }

    // MARK: Attempts

    /// A worker is about to call `start()`.
    final func startTimeout(of run: AttemptController, attempt serial: Int) {
        guard let timeout = run.plan.timeout else { return }
        let timer = run.time.schedule(after: timeout) { [self] in
            expire(run, attempt: serial, after: timeout)
        }
        run.keep(timer, ofAttempt: serial)
    }

    /// The body has returned, or thrown: it is over, or waits for its next attempt.
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
        if goesBack(run) { return }
        // Each attempt by itself is not what is counted.
        retainedQueue()?.activeProgress?.completeUnit()
        conclude()
    }

    /// Takes it back to those that wait, for another attempt; false if there is none.
    private func goesBack(_ run: AttemptController) -> Bool {
        guard !status.isStopped, let queue = retainedQueue() else { return false }
        let failure = withExtras { $0.failure }
        guard let hold = run.hold(after: failure?.error) else { return false }
        let number = run.holds(hold)
        prepareBodyAgain()
        let (change, handlers) = withExtras { extras -> (Change?, [CancelHandler]) in
            // Checked here: whoever passes the deadline fails the operation after that, with this lock held.
            // A failure that came after the decision has not been looked at, and stays.
            guard !run.hasPassedDeadline, extras.failure === failure,
                let change = update({ $0.attemptEnded() })
            else { return (nil, []) }
            let handlers = extras.cancelHandlers
            extras.cancelHandlers = handlers.filter { !$0.isOfAttempt }
            extras.failure = nil
            return (change, handlers)
        }
        guard let change else { return false }
        withExtendedLifetime(handlers) {}
        // It is held: nobody starts it again before the end of this.
        let delay = max(.zero, hold.end - run.time.now())
        if queue.isWatched { queue.recordReturn(of: self, error: failure?.error, delay: delay) }
        failure?.observe()
        if change.before.has(.holdsSlot) { queue.returnSlot() }
        run.claim?.giveBack(keepsTicket: false)
        if change.after.has(.observed) { notifyObservers() }
        self.hold(run, number, for: hold.end - run.time.now())
        return true
    }

    // MARK: Running out of time

    private func expire(_ run: AttemptController, attempt serial: Int, after timeout: Duration) {
        guard run.beginsExpiry(ofAttempt: serial) else { return }
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
        if run.endsExpiry() { decide(run) }
    }

    /// Tells the body, and nobody else, that it is cancelled.
    final func markExpired() {
        guard let change = update({ $0.expired() }) else { return }
        if change.after.has(.observed) { notifyObservers() }
        if change.after.has(.hasCancelHandlers) { callCancelHandlers() }
    }

    private func passDeadline(_ run: AttemptController) {
        let word = status
        guard word.phase != .finished else { return }
        run.passesDeadline()
        let error = OperationDeadlineExceeded(
            operation: label, hasStarted: word.isAtWork || run.hasBegun)
        fail(error)
        notifyOutOfTime(error)
        note(.failure(error))
        // It does not begin from here on, however long its `cancel()` takes.
        _ = announceCancellation()
        CancelRound.cancel([self])
    }
}

extension OperationOptions {
    var hasKeys: Bool { joinedKey != nil || latestKey != nil || !limits.isEmpty }
}
