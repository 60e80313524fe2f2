import Dispatch
import Operations
import OperationsRuntime
import Synchronization

/// One run of a plan.
///
/// Unchecked: `queues` and `homes` change only before the threads of the round begin and after they
/// have ended.
final class Round: @unchecked Sendable {
    /// An operation and its work; no operation for blocks.
    struct Part: Sendable {
        let operation: Operation?
        let works: [Work]
        /// Whether the work runs exactly once, unless its operation is cancelled.
        var isCertain = true
    }

    private struct Weak { weak var object: AnyObject? }

    let plan: Plan
    let violations = Violations()
    let releases = Releases()
    /// The tasks of the round that have to return.
    let tasks = Rendezvous()
    private(set) var queues: [OperationQueue] = []
    private(set) var homes: [Home] = []
    private let records = Locked([Int: [Part]]())
    private let temporaries = Locked([Weak]())
    /// The loops over `idles`, which end when the round cancels them.
    let idles = IdleLoops()
    let limit: RateLimit
    let budget = ConcurrencyBudget(3)

    init(_ plan: Plan) {
        self.plan = plan
        // So many tokens that no plan waits for long.
        limit = RateLimit(200, per: .milliseconds(10), burst: 3)
        for index in plan.queues.indices {
            homes.append(Home(index, of: plan, violations))
            queues.append(OperationQueue(plan.queues[index]))
            queues[index].isSuspended = plan.isHeld
        }
    }

    /// Runs the plan, and returns what was wrong.
    func run() -> [String] {
        Watchdog.shared.watch(queues)
        performSteps()
        if plan.isHeld {
            Watchdog.shared.enter("a quiet moment, while all queues are suspended")
            checkQuiet("while all queues are suspended")
            for queue in queues { queue.isSuspended = false }
        }
        Watchdog.shared.enter("the tasks of the round")
        tasks.wait()
        for (index, queue) in queues.enumerated() {
            Watchdog.shared.enter("a wait of a thread for queue \(index)")
            queue.waitUntilAllOperationsAreFinished()
        }
        finishIdles()
        Watchdog.shared.enter("the checks of the model")
        checkAll()
        release()
        if plan.endsQuietly {
            Watchdog.shared.enter("a quiet moment, after everything has ended")
            checkQuiet("after everything has ended")
        }
        return violations.all
    }

    private func performSteps() {
        Watchdog.shared.enter("the threads of the round")
        let threads = Rendezvous()
        for (number, steps) in plan.threads.enumerated() {
            threads.enter()
            let started = startThread(named: "adder \(number)") {
                let adder = Adder(number, of: self)
                for step in steps {
                    Heartbeat.beat()
                    adder.perform(step)
                }
                threads.leave()
            }
            precondition(started, "cannot start a thread")
        }
        threads.wait()
    }

    // MARK: Records

    func record(_ step: Step, _ parts: [Part]) { records.withLock { $0[step.id] = parts } }

    func parts(of step: Int?) -> [Part] {
        guard let step else { return [] }
        return records.withLock { $0[step] ?? [] }
    }

    func operation(of step: Int?) -> Operation? { parts(of: step).first?.operation }

    /// Remembers an object that has to be released before the round ends.
    func expectRelease(of object: any AnyObject & Sendable) {
        temporaries.withLock { $0.append(Weak(object: object)) }
    }

    // MARK: Checking

    private func finishIdles() {
        // Each loop has had a turn since the queues became empty, and gets another one after this.
        Watchdog.shared.enter("a turn of a loop over `idles`")
        idles.awaitTurns()
        for queue in queues {
            queue.addOperation {}
            queue.waitUntilAllOperationsAreFinished()
        }
        Watchdog.shared.enter("a second turn of a loop over `idles`")
        idles.awaitTurns()
        Watchdog.shared.enter("the end of a cancelled loop over `idles`")
        idles.end()
    }

    private func checkQuiet(_ moment: String) {
        if !Processor.becomesQuiet() {
            violations.add("workers use processors \(moment), and nothing is ready")
        }
    }

    private func checkAll() {
        for (step, parts) in records.withLock({ $0 }) {
            for part in parts { check(part, of: step) }
        }
        for (index, queue) in queues.enumerated() {
            let (count, operations) = (queue.operationCount, queue.operations.count)
            if count != 0 { violations.add("queue \(index): \(count) are left at the end") }
            if operations != 0 { violations.add("queue \(index): lists \(operations) at the end") }
        }
    }

    private func check(_ part: Part, of step: Int) {
        if let operation = part.operation, !operation.isFinished {
            violations.add("step \(step) has not finished, although its queue is empty")
        }
        for work in part.works {
            let isCancelled = part.operation?.isCancelled == true
            let mayBeSkipped =
                !part.isCertain || isCancelled || part.operation == nil && work.home.mayDropBlocks
            if work.runCount == 0, !mayBeSkipped {
                let outcome = part.operation.map { operation in
                    operation.error.map { ", and its operation failed: \($0)" }
                        ?? ", and its operation counts as a success"
                }
                work.home.report("step \(step) did not run\(outcome ?? "")")
            }
            if work.hasBegun, !work.hasEnded {
                work.home.report("step \(step) has not ended, although its queue is empty")
            }
        }
    }

    /// Releases everything, and waits until it is gone.
    private func release() {
        Watchdog.shared.enter("the release of queues, operations and bodies")
        Watchdog.shared.forget()
        var references = temporaries.withLock { $0 }
        references += queues.map { Weak(object: $0) }
        records.withLock { records in
            references += records.values.joined().compactMap { part in
                part.operation.map { Weak(object: $0) }
            }
            records = [:]
        }
        queues = []
        // Nothing tells when an object is released.
        var microseconds = 20
        while releases.count > 0 || references.contains(where: { $0.object != nil }) {
            Processor.nap(microseconds: microseconds)
            microseconds = min(microseconds * 2, 5_000)
            if microseconds == 5_000 {
                let queues = references.count { $0.object is OperationQueue }
                let others = references.count { $0.object != nil } - queues
                Watchdog.shared.specify(
                    "the release of \(queues) queues, \(others) operations and \(releases.count) "
                        + "objects that bodies captured")
            }
        }
    }
}

extension OperationQueue {
    fileprivate convenience init(_ plan: Plan.Queue) {
        self.init()
        maxConcurrentOperationCount = plan.width
        if plan.order > 0 { order = OperationQueueOrder.allCases[plan.order] }
        if let capacity = plan.capacity { overflow = .dropOldest(capacity: capacity) }
        if let quality = plan.quality { qualityOfService = QualityOfService.allCases[quality] }
        if plan.usesDispatch {
            underlyingQueue = DispatchQueue(label: "underlying", attributes: .concurrent)
        }
    }
}
