import Operations
import OperationsRuntime

// What runs as one operation each.

extension Adder {
    func addBlocks(_ step: Step, to queue: OperationQueue) {
        // A block has the usual priority, whatever its step says.
        var step = step
        step.priority = 2
        var works: [Work] = []
        for _ in 0..<step.count {
            let (work, body) = work(step, isOrdered: true)
            works.append(work)
            queue.addOperation(body)
        }
        round.record(step, [Round.Part(operation: nil, works: works)])
    }

    func addOperations(_ step: Step, to queue: OperationQueue) {
        let count = step.style < 3 ? min(step.count, 20) : 1
        let parts = (0..<count).map { _ in
            let (work, body) = work(step, isOrdered: isFixed(step))
            let operation = BlockOperation(block: body)
            if step.style == 4 {
                for _ in 0..<step.hops { operation.addExecutionBlock {} }
            }
            if step.style == 5 { operation.completionBlock = { Heartbeat.beat() } }
            configure(operation, as: step)
            return Round.Part(operation: operation, works: [work])
        }
        add(step, parts, to: queue)
    }

    /// Adds operations of a class; in some styles together with plain ones, which are ready as soon
    /// as they are added.
    func add(
        _ step: Step, to queue: OperationQueue,
        _ make: (@escaping @Sendable () -> Void) -> Operation
    ) {
        let count = step.style < 3 ? min(step.count, 20) : 1
        let parts = (0..<count).map { index in
            let (work, body) = work(step, isOrdered: isFixed(step))
            let operation = index % 3 == 1 ? BlockOperation(block: body) : make(body)
            configure(operation, as: step)
            return Round.Part(operation: operation, works: [work])
        }
        add(step, parts, to: queue)
    }

    func addBody(_ step: Step, to queue: OperationQueue) {
        let (work, body) = asyncWork(step, isOrdered: isFixed(step))
        var operation: TypedOperation<Void>
        if step.style % 2 == 0, step.priority == 2, step.quality == nil {
            operation = queue.add(body: body)
        } else {
            operation = TypedOperation(body: body)
            configure(operation, as: step)
            queue.addOperation(operation)
        }
        round.record(step, [Round.Part(operation: operation, works: [work])])
    }

    func addDependent(_ step: Step, to queue: OperationQueue) {
        // What has been added already, so that no barrier and no order can close a circle.
        let awaited = round.parts(of: step.target).filter { $0.operation != nil }
        let (work, body) = work(step, after: awaited)
        let operation: Operation
        switch step.style {
        case 0...2: operation = BlockOperation(block: body)
        case 3, 4: operation = SubclassedOperation(body)
        default:
            let suspends = round.plan.suspends
            operation = TypedOperation<Void> { () async in
                if suspends { await Pause.perform(step.style, step.hops) }
                body()
            }
        }
        configure(operation, as: step)
        for part in awaited {
            if let dependency = part.operation { operation.addDependency(dependency) }
        }
        add(step, [Round.Part(operation: operation, works: [work])], to: queue)
    }

    func addLimited(_ step: Step, to queue: OperationQueue) {
        let traits = step.traits + [trait(of: step)]
        let (work, body) = asyncWork(step)
        // An operation that is in the queue already may be returned in place of the new one.
        let operation = TypedOperation<Void>(body: body)
        operation.apply(traits)
        add(step, [Round.Part(operation: operation, works: [work])], to: queue)
    }

    func addToCapacity(_ step: Step, to queue: OperationQueue) {
        let (work, body) = work(step)
        guard let operation = queue.tryAdd(capacity: 1 + step.count, body: body) else { return }
        round.record(step, [Round.Part(operation: operation, works: [work])])
    }

    private func trait(of step: Step) -> OperationTrait {
        switch step.kind {
        case .rates: return .rate(round.limit)
        case .budgets: return .cost(1 + step.hops % 3, of: round.budget)
        case .shares: return .group(step.hops, weight: 1 + step.style)
        case .times:
            return step.style < 5
                ? .delay(.microseconds(step.hops * 200))
                : step.style == 6
                    ? .throttled(by: step.hops, .microseconds(500))
                    : .debounced(by: step.hops, .microseconds(300), atMost: .milliseconds(1))
        default:
            switch step.style {
            case 0: return .coalesced(by: step.hops)
            case 1...3: return .limited(to: 1 + step.style % 3, by: step.hops)
            default: return .exclusive(by: step.hops)
            }
        }
    }

    private func add(_ step: Step, _ parts: [Round.Part], to queue: OperationQueue) {
        let operations = parts.compactMap(\.operation)
        if operations.count > 1 {
            queue.addOperations(operations, waitUntilFinished: false)
        } else {
            for operation in operations { queue.addOperation(operation) }
        }
        // Only now: what depends on an operation has to come after it in every order.
        round.record(step, parts)
    }

    /// Whether the priority and the quality of a step's operations never change.
    private func isFixed(_ step: Step) -> Bool { !round.plan.uses(.priorities) }

    private func asyncWork(
        _ step: Step, isOrdered: Bool = false
    ) -> (Work, @Sendable () async throws -> Void) {
        let work = Work(
            step.id, in: round.homes[step.queue], at: place(step, isOrdered: isOrdered))
        let (token, effort) = (round.releases.token(), effort(of: work))
        let suspends = round.plan.suspends
        return (
            work,
            {
                work.begin()
                Self.compute(effort)
                if suspends { await Pause.perform(step.style, step.hops) }
                withExtendedLifetime(token) {}
                work.end()
            }
        )
    }
}
