#if DurableJobs
import Operations
import OperationsRuntime

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// The loop of transactions: it commits ends, claims jobs and starts their operations.

extension JobWorker {
    /// Runs until the worker has stopped and has committed everything.
    func exchange() async {
        while true {
            let now = Machine.timeSinceBoot
            // A worker that stops has nothing more to report without a lease.
            guard hasLease || state.withLock({ $0.isStopping }) else {
                await wakeUp.wait(atMost: .seconds(1))
                continue
            }
            switch state.withLock({ $0.nextStep(now: now) }) {
            case .finish: return
            case .wait(let until): await wakeUp.wait(atMost: until - now)
            case .exchange(let exchange, let group): await perform(exchange, group)
            case .handBack(let waiting): handBack(waiting)
            }
        }
    }

    private var hasLease: Bool { lease.withLock { $0.end != nil } }

    private func perform(_ exchange: Exchange, _ group: [Reports.Ended]) async {
        let start = Machine.timeSinceBoot
        let answer: ExchangeAnswer
        do {
            answer = try await store.exchange(exchange)
            if Faults.losesAnswer() { throw PermanentFailure("a test has lost the answer") }
        } catch {
            let now = Machine.timeSinceBoot
            state.withLock { state in
                if let refusal = StoreRefusal(error) {
                    state.exchangeRefused(exchange, group, refusal, now: now)
                } else {
                    state.exchangeFailed(exchange, group, now: now)
                }
            }
            return storeFailed(error, in: .exchanges)
        }
        storeAnswered(in: .exchanges)
        let now = Machine.timeSinceBoot
        let (claimed, overtaken, generation) = state.withLock { state in
            let claimed = state.exchanged(exchange, answer, now: now)
            return (claimed, state.overtaken(by: claimed), state.generation)
        }
        for running in overtaken { running.record.interrupt(.leaseLost) }
        handlers.cancel(overtaken.map(\.operation), because: .leaseLost)
        if answer.isLeaseLost { loseLease(of: exchange.worker) }
        if answer.havePausesChanged { upkeep.signal() }
        for job in claimed { begin(job, generation: generation) }
        settle(group, answer.verdicts)
        if !(group.isEmpty && claimed.isEmpty) {
            report(
                .exchanged(
                    committed: group.count, claimed: claimed.count, duration: now - start))
        }
        report(answer.alsoEnded)
        if !answer.alsoEnded.isEmpty { upkeep.signal() }
    }

    /// Publishes the ends of attempts, or gives them up, as the store has decided, and ends the
    /// waits for their jobs in this process.
    private func settle(_ group: [Reports.Ended], _ verdicts: [VerdictAnswer]) {
        var toPublish: [(JobID, String)] = []
        var results: [JobID: Data] = [:]
        for (ended, verdict) in zip(group, verdicts) {
            let record = ended.record
            let token = record.job.token
            if record.isCompletedByProgram, verdict == .accepted(.completed) {
                // What follows is left to the upkeep.
                upkeep.signal()
                record.part?.didNotCommit()
            } else if verdict == .accepted(.completed) {
                if case .completed(let result, let addition) = ended.verdict {
                    results[token.job] = result
                    if let outputs = addition?.outputs { toPublish.append((token.job, outputs)) }
                }
            } else {
                record.part?.didNotCommit()
            }
            guard isObserved else { continue }
            switch verdict {
            case .accepted(let state):
                report(
                    .ended(
                        job: token.job, name: record.job.name, attempt: record.job.attempt,
                        state: state,
                        error: state == .completed ? nil : ended.verdict.reason))
            case .fenced:
                report(.fenced(job: token.job, name: record.job.name, attempt: record.job.attempt))
            }
        }
        if let `extension` = store.extension, !toPublish.isEmpty {
            Faults.pauseBeforePublishing()
            let published = Set(`extension`.didCommit(toPublish))
            state.withLock { $0.endsPublished(published, now: Machine.timeSinceBoot) }
            for (job, _) in toPublish where !published.contains(job) { results[job] = nil }
        }
        if verdicts.contains(.accepted(.available)) {
            // Another worker may be idle.
            store.database.announce(jobs.name)
            jobs.signals.jobsAdded()
        }
        jobs.waits.completed(results)
        if verdicts.contains(where: \.isEnd) { jobs.signals.jobsEnded() }
    }

    // MARK: Attempts

    private func begin(_ job: ClaimedJob, generation: Int) {
        let part = store.extension?.attempt(job, in: jobs.name)
        let record = AttemptRecord(job, generation: generation, part: part) { [weak self] in
            self?.isLeaseOver ?? true
        }
        let prepared: JobType.Prepared
        switch performer.prepare(record) {
        case .refused(let verdict): return reject(record, verdict)
        case .ready(let job): prepared = job
        }
        let operation = TypedOperation<Void> { [weak self] in
            guard let self, begin(record) else { throw NotBegun() }
            try await record.run(prepared.perform)
        }
        operation.name = "\(job.name) \(job.token.job)"
        operation.apply(Self.traits(of: job) + prepared.traits)
        operation.completionBlock = { [weak self, weak operation] in
            guard let self, let operation else { return }
            operationEnded(record, operation)
        }
        let now = Machine.timeSinceBoot
        guard state.withLock({ $0.started(record, operation, now: now) }) else {
            return wakeUp.signal()
        }
        operations.addOperation(operation)
    }

    /// The body of a job is about to begin.
    ///
    /// - Returns: false if it must not.
    private func begin(_ record: AttemptRecord) -> Bool {
        let (job, now) = (record.job, Machine.timeSinceBoot)
        // A process that was stopped after a claim may start the job before its watchdog notices.
        guard !record.isLeaseLost, state.withLock({ $0.begin(record, at: now) }) else {
            return false
        }
        if isObserved {
            let wait = Duration.milliseconds(job.claimedAt - job.enqueuedAt)
            report(
                .started(
                    job: job.token.job, name: job.name, attempt: job.attempt,
                    wait: wait + (now - record.claimedAt)))
        }
        record.observe(by: jobs.observer.withLock { $0 }?.attemptBegins(job))
        return true
    }

    /// Hands back jobs that have not begun in time, except those that would not begin elsewhere
    /// either: their type delays them.
    private func handBack(_ waiting: [WorkerState.Running]) {
        let delays = waiting.map(\.operation.ownDelay)
        let now = Machine.timeSinceBoot
        let returned = state.withLock { state in
            for (running, delay) in zip(waiting, delays) {
                if let delay { state.keep(running, waiting: delay, now: now) }
            }
            return state.handBack(
                zip(waiting, delays).filter { $0.1 == nil }.map(\.0), now: now)
        }
        for running in returned { running.operation.cancel(because: .notBegun) }
    }

    private static func traits(of job: ClaimedJob) -> [OperationTrait] {
        let priority = Operations.Operation.QueuePriority(rawValue: Int(-job.place.rank))
        var traits: [OperationTrait] = [.priority(priority ?? .normal)]
        if let timeout = job.timeout { traits.append(.timeout(timeout)) }
        if let deadline = job.deadline {
            traits.append(.deadline(in: .milliseconds(deadline - job.claimedAt)))
        }
        return traits
    }

    private func reject(_ record: AttemptRecord, _ verdict: AttemptVerdict) {
        let now = Machine.timeSinceBoot
        if state.withLock({ $0.rejected(record, verdict, now: now) }) == true { wakeUp.signal() }
    }

    private func operationEnded(
        _ record: AttemptRecord, _ operation: TypedOperation<Void>
    ) {
        let verdict = verdict(on: record, operation)
        record.observer?.attemptEnded(verdict, error: operation.error)
        let now = Machine.timeSinceBoot
        switch state.withLock({ $0.operationEnded(record, verdict, now: now) }) {
        case nil: record.part?.didNotCommit()
        case true?: wakeUp.signal()
        case false?: break
        }
    }

    private func verdict(
        on record: AttemptRecord, _ operation: TypedOperation<Void>
    ) -> AttemptVerdict {
        do {
            _ = try operation.result
            return record.verdict
        } catch is NotBegun {
            return .notBegun
        } catch is OperationCancellation {
            switch record.interruption {
            case .cancelled(let reason): return .cancelled(reason: reason)
            // The program cancelled the operation, or all of the queue: the job did not fail.
            case .stopping, .leaseLost, nil: return record.returned
            }
        } catch {
            return .failure(error, of: record.job)
        }
    }
}

/// A job did not begin, because its worker's lease had ended, or because it was handed back.
private struct NotBegun: Error {}

extension Operations.Operation {
    /// How long the operation still waits for a time of its own; nil if it does not.
    fileprivate var ownDelay: Duration? {
        for cause in explain().causes where cause.path.count == 1 {
            if case .delayed(let rest) = cause.reason { return rest }
        }
        return nil
    }
}

extension VerdictAnswer {
    fileprivate var isEnd: Bool {
        if case .accepted(let state) = self { state.isEnded } else { false }
    }
}
#endif
