import Operations
import OperationsInsight
import OperationsRuntime

/// Performs the steps of one thread of a round.
final class Adder {
    let thread: Int
    let round: Round
    /// How much the thread has added to each queue, and the number of its last barrier.
    private var additions: [Int]
    private var barriers: [Int]
    /// The observations that have begun and not ended.
    var observations: [KeyValueObservation] = []
    /// The timelines that still record.
    var timelines: [OperationTimeline] = []

    init(_ thread: Int, of round: Round) {
        (self.thread, self.round) = (thread, round)
        additions = round.queues.map { _ in 0 }
        barriers = additions
    }

    func perform(_ step: Step) {
        let queue = round.queues[step.queue]
        switch step.kind {
        case .blocks: addBlocks(step, to: queue)
        case .operations: addOperations(step, to: queue)
        case .subclasses: add(step, to: queue) { SubclassedOperation($0) }
        case .starters: add(step, to: queue) { StartingOperation($0) }
        case .bodies: addBody(step, to: queue)
        case .graphs: addGraph(step, to: queue)
        case .pieces: addPieces(step, to: queue)
        case .barriers: addBarrier(step, to: queue)
        case .groups: addGroup(step, to: queue)
        case .dependencies: addDependent(step, to: queue)
        case .keys, .rates, .budgets, .times, .shares: addLimited(step, to: queue)
        case .capacities: addToCapacity(step, to: queue)
        case .nested: addNested(step, to: queue)
        case .temporaries: addToTemporary(step)
        case .scopes: addToScope(step)
        case .retries: addRetried(step, to: queue)
        case .timeouts: addTimed(step, to: queue)
        case .repeats: addRepeated(step, to: queue)
        case .waitingCapacities: addOnceThereIsCapacity(step, to: queue)
        case .ownReadiness: addReadyLater(step, to: queue)
        case .shutDowns: addToQueueThatShutsDown(step)
        case .priorities, .qualities, .orders, .overflow, .suspension, .widths, .dispatch,
            .serial:
            configure(step, queue)
        case .cancels: cancel(step, queue)
        case .observers: observe(step, queue)
        case .watches: watch(step, queue)
        case .idles: round.idles.begin(on: queue)
        case .questions: ask(step, queue)
        case .threadWaits, .taskWaits, .operationWaits: wait(step, for: queue)
        }
    }

    // MARK: Work

    /// Makes what one body of a step does, and what the model knows of it.
    ///
    /// - Parameter isOrdered: whether the body starts in the order of addition, as far as its queue
    ///   and its priority are concerned.
    func work(
        _ step: Step, isOrdered: Bool = false, after parts: [Round.Part] = []
    ) -> (Work, @Sendable () -> Void) {
        let work = Work(
            step.id, in: round.homes[step.queue], at: place(step, isOrdered: isOrdered),
            after: parts)
        return (work, body(of: work))
    }

    func body(of work: Work) -> @Sendable () -> Void {
        let (token, effort) = (round.releases.token(), effort(of: work))
        return {
            work.begin()
            Self.compute(effort)
            withExtendedLifetime(token) {}
            work.end()
        }
    }

    /// The place of an addition that is about to happen.
    func place(_ step: Step, isOrdered: Bool) -> Place {
        additions[step.queue] += 1
        return Place(
            thread: thread, number: additions[step.queue],
            level: isOrdered ? step.priority : nil, barrier: barriers[step.queue])
    }

    func placeOfBarrier(_ step: Step) -> Place {
        let place = place(step, isOrdered: false)
        barriers[step.queue] = place.number
        return place
    }

    /// How long a body computes: most do nothing, so that what happens around them is frequent.
    func effort(of work: Work) -> Int {
        guard round.plan.effort > 0 else { return 0 }
        var random = SplitMix64(seed: UInt64(work.step * 1_000 + work.place.number))
        guard random.happens(round.plan.effort, in: 12) else { return 0 }
        return random.happens(1, in: 5) ? -random.below(200) : random.below(10_000)
    }

    /// Computes, or, if the number is negative, blocks for as many microseconds.
    static func compute(_ effort: Int) {
        if effort > 0 { Processor.compute(effort) }
        if effort < 0 { Processor.nap(microseconds: -effort) }
    }

    /// Gives an operation the priority and the quality of its step.
    func configure(_ operation: Operation, as step: Step) {
        if step.priority != 2 { operation.queuePriority = step.queuePriority }
        if let quality = step.quality { operation.qualityOfService = .allCases[quality] }
    }
}

extension Step {
    var queuePriority: Operation.QueuePriority { .allCases[priority] }

    var traits: [OperationTrait] {
        var traits: [OperationTrait] = priority == 2 ? [] : [.priority(queuePriority)]
        if let quality { traits.append(.qualityOfService(.allCases[quality])) }
        return traits
    }
}
