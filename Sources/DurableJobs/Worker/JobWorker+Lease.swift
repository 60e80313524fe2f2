#if DurableJobs
import Operations
import OperationsRuntime

// Steps 1 and 8 of Protocol.md: heartbeats, and what happens without them.

extension JobWorker {
    /// Makes the worker's row. The lease counts from before the call.
    func register() async throws {
        let (worker, width) = state.withLock { ($0.worker, $0.width) }
        let earlier = lease.withLock { $0.earlier }
        let start = Machine.timeSinceBoot
        try await store.register(
            worker, queue: jobs.name, host: Machine.host, process: Machine.process,
            width: width, lease: options.lease,
            performing: performer.performed, after: earlier)
        lease.withLock { lease in
            lease.end = start + options.lease
            lease.earlier.remove(earlier)
        }
        watchdog.signal()
    }

    /// Registers at the start of the worker; waits for a store that cannot be reached yet.
    ///
    /// - Returns: false if the worker was stopped meanwhile.
    func registerFirst() async throws -> Bool {
        let start = Machine.timeSinceBoot
        var tries = 0
        while true {
            do {
                try await register()
                storeAnswered(in: .heartbeats)
                return true
            } catch let error where StartPatience.isWorthWaiting(for: error) {
                let rest = start + options.startPatience - Machine.timeSinceBoot
                guard rest > .zero else { throw error }
                guard !state.withLock({ $0.isStopping }) else { return false }
                storeFailed(error, in: .heartbeats)
                await wakeUp.wait(atMost: min(rest, StartPatience.pause(after: tries)))
                tries += 1
            }
        }
    }

    /// Whether no lease lasts at this moment.
    var isLeaseOver: Bool {
        guard !Faults.noWatchdog else { return false }
        guard let end = lease.withLock({ $0.end }) else { return true }
        return Machine.timeSinceBoot >= end
    }

    /// Renews the lease five times in its length, and registers again after it was lost. Has a
    /// thread to itself, and blocks it while it waits.
    func sendHeartbeats() async {
        let period = options.lease / 5
        var hasToldStop = false
        var due = Machine.timeSinceBoot + period
        while !lease.withLock({ $0.isOver }) {
            beats.wait(atMost: max(.zero, due - Machine.timeSinceBoot))
            let lease = lease.withLock { $0 }
            guard !lease.isOver else { return }
            guard lease.end != nil else {
                hasToldStop = false
                due = await registerAgain()
                continue
            }
            let start = Machine.timeSinceBoot
            let (worker, isStopping) = state.withLock { ($0.worker, $0.isStopping) }
            guard start >= due || isStopping != hasToldStop else { continue }
            if start - due > period { reportElsewhere(.heartbeatLate(by: start - due)) }
            due = start + period
            do {
                let answer = try await store.beat(
                    worker, lease: options.lease, isStopping: isStopping)
                storeAnswered(in: .heartbeats)
                hasToldStop = isStopping
                guard answer.isAlive else {
                    loseLease(of: worker)
                    continue
                }
                renewed(worker, until: start + options.lease)
                for (job, reason) in answer.cancelled { cancel(job, because: reason) }
            } catch {
                storeFailed(error, in: .heartbeats)
                due = Machine.timeSinceBoot + min(period, .milliseconds(200))
            }
        }
    }

    /// Registers the new incarnation of a worker that has lost its lease.
    ///
    /// - Returns: when the next heartbeat is due, or the next try.
    private func registerAgain() async -> Duration {
        do {
            let start = Machine.timeSinceBoot
            try await register()
            storeAnswered(in: .heartbeats)
            jobsAdded()
            store.database.announce(jobs.name)
            return start + options.lease / 5
        } catch {
            storeFailed(error, in: .heartbeats)
            return Machine.timeSinceBoot + .milliseconds(200)
        }
    }

    /// Ends the lease of a worker that has stopped.
    ///
    /// The worker may have lost its lease shortly before, and not have told the store that it has
    /// not died. Others would then count its death for the jobs that it held, so it tells the store
    /// now, and waits for a store that does not answer until the time to stop is over. Otherwise
    /// the worker holds nothing, and nothing depends on the call.
    func leave() async {
        var tries = 0
        while true {
            let worker = state.withLock { $0.worker }
            let earlier = lease.withLock { $0.earlier }
            do {
                try await store.unregister(worker, after: earlier)
                guard !earlier.workers.isEmpty else { return }
                store.database.announce(jobs.name)
                return jobs.signals.jobsAdded()
            } catch {
                guard !earlier.workers.isEmpty, StartPatience.isWorthWaiting(for: error),
                    !state.withLock({ $0.isGraceOver })
                else { return }
                storeFailed(error, in: .heartbeats)
                await wakeUp.wait(atMost: StartPatience.pause(after: tries))
                tries += 1
            }
        }
    }

    private func renewed(_ worker: String, until end: Duration) {
        // The worker may have begun a new incarnation meanwhile.
        guard state.withLock({ $0.worker }) == worker else { return }
        lease.withLock { lease in
            if let present = lease.end { lease.end = max(present, end) }
        }
        watchdog.signal()
    }

    private func cancel(_ job: JobID, because reason: String) {
        guard let running = state.withLock({ $0.running[job] }) else { return }
        running.record.interrupt(.cancelled(reason: reason))
        handlers.cancel([running.operation], because: .message(reason))
    }

    /// Ends the lease when it was not renewed in time, also while a heartbeat gets no answer. Has a
    /// thread to itself, and blocks it while it waits.
    func watchLease() {
        while true {
            let lease = lease.withLock { $0 }
            guard !lease.isOver, !Faults.noWatchdog else { return }
            guard let end = lease.end else {
                watchdog.wait(atMost: nil)
                continue
            }
            let rest = end - Machine.timeSinceBoot
            guard rest <= .zero else {
                // The machine may sleep meanwhile, and the lease goes on.
                watchdog.wait(atMost: min(rest, options.lease / 5))
                continue
            }
            loseLease(of: state.withLock { $0.worker })
        }
    }

    /// Cancels all jobs, forgets their results, and begins a new incarnation, which the loop of
    /// heartbeats registers. Until then the worker exchanges nothing with the store.
    func loseLease(of worker: String) {
        let new = Self.newIdentifier()
        let lost = state.withLock { state in
            state.worker == worker ? state.leaseLost(newWorker: new) : nil
        }
        guard let lost else { return }
        lease.withLock { lease in
            lease.end = nil
            lease.earlier.add(worker, lost.held)
        }
        for running in lost.cancel { running.record.interrupt(.leaseLost) }
        for event in [beats, watchdog] { event.signal() }
        reportElsewhere(.leaseLost)
        handlers.cancel(lost.cancel.map(\.operation), because: .leaseLost)
        guard store.extension != nil else { return }
        // What is left may be in a folder on a network that does not answer.
        handlers.report { for record in lost.dropped { record.part?.didNotCommit() } }
    }

    /// Reports an event on another thread: this one must not wait for the program's code.
    func reportElsewhere(_ event: JobWorkerEvent) {
        guard isObserved else { return }
        handlers.report { [weak self] in self?.report(event) }
    }
}
#endif
