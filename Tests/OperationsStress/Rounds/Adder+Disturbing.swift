import Operations
import OperationsInsight
import OperationsRuntime

// What disturbs the work, and what waits for it.

extension Adder {
    func configure(_ step: Step, _ queue: OperationQueue) {
        switch step.kind {
        case .priorities: round.operation(of: step.target)?.queuePriority = step.queuePriority
        case .qualities:
            let quality = QualityOfService.allCases[step.quality ?? 0]
            if step.style == 0 { return queue.qualityOfService = quality }
            round.operation(of: step.target)?.qualityOfService = quality
        case .orders:
            queue.order = .allCases[step.style % 3]
            if step.style == 6 { queue.aging = .milliseconds(1) }
        case .overflow:
            switch step.style {
            case 0...2: queue.overflow = nil
            case 3...5: queue.overflow = .dropOldest(capacity: 1 + step.count)
            default: queue.overflow = .dropNewest(capacity: 1 + step.count)
            }
        case .suspension:
            // The last thing that any thread does to the suspension is to end it.
            queue.isSuspended = true
            linger(step)
            queue.isSuspended = false
        case .widths: queue.maxConcurrentOperationCount = step.count
        default: break
        }
    }

    func cancel(_ step: Step, _ queue: OperationQueue) {
        guard step.target != nil else {
            if step.style < 4 { return queue.cancelAllOperations() }
            return queue.cancelAllOperations(because: "all of step \(step.id)")
        }
        guard let operation = round.operation(of: step.target) else { return }
        switch step.style {
        case 0...4: operation.cancel()
        case 5, 6: operation.cancel(because: "step \(step.id)")
        default: operation.cancel(.withDependents, because: "step \(step.id)")
        }
    }

    func observe(_ step: Step, _ queue: OperationQueue) {
        let violations = round.violations
        let observation: KeyValueObservation
        if step.style < 6 {
            observation = queue.observe(\.operationCount, options: [.new, .old]) { _, change in
                if let new = change.newValue, new < 0 {
                    violations.add("an observer of queue \(step.queue) has seen the count \(new)")
                }
            }
        } else {
            observation = queue.observe(\.operations) { _, _ in }
        }
        // Some observers stay until the thread has done its steps.
        if step.style % 2 == 0 { return observations.append(observation) }
        linger(step)
        observation.invalidate()
    }

    /// Has the queue's operations measured or recorded, for a while or for good.
    func watch(_ step: Step, _ queue: OperationQueue) {
        if step.style < 4 {
            queue.measuresOperations = true
            if step.style == 0 { return }
            linger(step)
            check(queue.statistics, of: step)
            queue.measuresOperations = false
        } else {
            let timeline = OperationTimeline()
            timeline.record(queue)
            if step.style == 4 { return timelines.append(timeline) }
            linger(step)
            if step.style == 5 { _ = timeline.slices(since: .zero) }
            timeline.stop()
        }
    }

    private func check(_ statistics: OperationQueueStatistics, of step: Step) {
        let counts = [
            statistics.finishedCount, statistics.cancelledCount, statistics.failedCount,
        ]
        if counts.contains(where: { $0 < 0 }) {
            round.homes[step.queue].report("the statistics are \(statistics)")
        }
    }

    func ask(_ step: Step, _ queue: OperationQueue) {
        switch step.style {
        case 0, 1:
            let count = queue.operationCount
            if count < 0 { round.homes[step.queue].report("the count is \(count)") }
        case 2, 3:
            let operations = queue.operations
            if Set(operations).count != operations.count {
                round.homes[step.queue].report("lists an operation twice")
            }
        case 4: _ = queue.explain()
        case 5: _ = round.operation(of: step.target)?.explain()
        case 6: _ = queue.progress.fractionCompleted
        default: linger(step)
        }
    }

    func wait(_ step: Step, for queue: OperationQueue) {
        switch step.kind {
        case .threadWaits:
            switch step.style {
            case 0...4: queue.waitUntilAllOperationsAreFinished()
            case 5, 6: _ = queue.waitUntilAllOperationsAreFinished(within: .milliseconds(1))
            default:
                // The watchdog comes earlier.
                _ = queue.waitUntilAllOperationsAreFinished(within: .seconds(3_600))
            }
        case .taskWaits: begin { await queue.finished() }
        default:
            guard let operation = round.operation(of: step.target) else { return }
            let home = round.homes[step.queue]
            let check: @Sendable () -> Void = {
                if !operation.isFinished {
                    home.report("the wait of step \(step.id) returned too early")
                }
            }
            if step.style < 5 {
                operation.waitUntilFinished()
                check()
            } else {
                begin {
                    await operation.finished()
                    check()
                }
            }
        }
    }

    /// Begins a task that has to return before the round ends.
    private func begin(_ body: @escaping @Sendable () async -> Void) {
        let tasks = round.tasks
        tasks.enter()
        Task.detached {
            await body()
            Heartbeat.beat()
            tasks.leave()
        }
    }

    /// Lets others go on for a short time, which differs from step to step.
    private func linger(_ step: Step) {
        switch step.hops {
        case 0: break
        case 1: Processor.compute(step.count * 200)
        case 2: Processor.yield()
        default: Processor.nap(microseconds: step.count * 5)
        }
    }
}
