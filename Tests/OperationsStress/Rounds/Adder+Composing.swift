import Operations
import OperationsRuntime

// Work that consists of several parts, or brings a queue of its own.

extension Adder {
    func addGraph(_ step: Step, to queue: OperationQueue) {
        var random = SplitMix64(seed: UInt64(step.id))
        let home = round.homes[step.queue]
        let place = place(step, isOrdered: false)
        var graph = BlockGraph()
        var works: [Work] = []
        var nodes: [BlockGraph.Node<Void>] = []
        for number in 0..<step.count {
            let before =
                nodes.isEmpty
                ? []
                : (0..<random.below(3)).map { _ in
                    random.below(nodes.count)
                }
            // A node that does not run has a predecessor that has thrown.
            let awaited = before.map { Round.Part(operation: nil, works: [works[$0]]) }
            let work = Work(step.id, in: home, at: place, after: awaited)
            let body = body(of: work)
            let node: BlockGraph.Node<Void>
            switch (step.style, number % 3) {
            case (0, 1), (1, 0):
                // Asks often, so that a cancellation finds it asking.
                node = graph.add {
                    body()
                    for _ in 0..<50 { try Operation.checkCancellation() }
                }
            case (2, 0):
                node = graph.add {
                    body()
                    _ = Operation.current?.isCancelled
                }
            case (3, 0) where round.plan.suspends:
                node = graph.add { () async throws in
                    await Pause.perform(step.style, step.hops)
                    body()
                }
            default: node = graph.add(body: body)
            }
            for other in Set(before).sorted() {
                graph.connect(nodes[other], before: node, on: .always)
            }
            works.append(work)
            nodes.append(node)
        }
        var run: TypedOperation<BlockGraph.Results>?
        do throws(OperationGraphError) {
            let priority = OperationTrait.priority(step.queuePriority)
            if let quality = step.quality {
                run = try queue.add(graph, priority, .qualityOfService(.allCases[quality]))
            } else {
                run = try queue.add(graph, priority)
            }
        } catch {
            home.report("the graph of step \(step.id) was refused: \(error)")
        }
        guard let run else { return }
        round.record(step, [Round.Part(operation: run, works: works)])
    }

    func addGroup(_ step: Step, to queue: OperationQueue) {
        // The members run on a queue of the group, so the model of this queue does not know them.
        let home = Home(unwatched: step.queue, round.violations)
        let parts = (0..<step.count).map { number in
            let work = Work(step.id, in: home)
            let body = body(of: work)
            let operation =
                number % 3 == 2 && round.plan.suspends
                ? TypedOperation<Void> { () async in
                    await Pause.perform(step.style, step.hops)
                    body()
                } : BlockOperation(block: body)
            return Round.Part(operation: operation, works: [work])
        }
        let members = parts.compactMap(\.operation)
        for (number, member) in members.enumerated() where number % 3 == 1 {
            member.addDependency(members[number - 1])
        }
        let group = GroupOperation(OperationGraph(nil, members), width: 1 + step.style % 3)
        configure(group, as: step)
        queue.addOperation(group)
        round.record(step, [Round.Part(operation: group, works: [])] + parts)
    }

    func addPieces(_ step: Step, to queue: OperationQueue) {
        let priorities: [TaskPriority] = [.background, .low, .medium, .high, .userInitiated]
        let home = round.homes[step.queue]
        let (tasks, token) = (round.tasks, round.releases.token())
        tasks.enter()
        Task(executorPreference: queue.executor, priority: priorities[step.style % 5]) {
            for hop in 0...step.hops {
                home.enterPiece(step.id)
                home.leave()
                if hop < step.hops { await Pause.perform(step.style, 1) }
            }
            withExtendedLifetime(token) {}
            tasks.leave()
        }
    }

    func addBarrier(_ step: Step, to queue: OperationQueue) {
        let home = round.homes[step.queue]
        let (place, token) = (placeOfBarrier(step), round.releases.token())
        let effort = step.hops * 300
        queue.addBarrierBlock {
            home.beginBarrier(place)
            Self.compute(effort)
            withExtendedLifetime(token) {}
            home.endBarrier(place)
        }
    }

    /// Adds a block that adds others, or that waits for another queue.
    func addNested(_ step: Step, to queue: OperationQueue) {
        let (work, body) = work(step)
        let inner = Work(
            step.id,
            in: step.style < 5
                ? round.homes[step.queue] : Home(unwatched: step.queue, round.violations))
        let innerBody = self.body(of: inner)
        queue.addOperation { [unowned queue] in
            if step.style < 5 {
                queue.addOperation(innerBody)
            } else {
                let other = OperationQueue()
                other.addOperation(innerBody)
                other.waitUntilAllOperationsAreFinished()
            }
            body()
        }
        let isCertain = !round.homes[step.queue].mayDropBlocks
        round.record(
            step,
            [
                Round.Part(operation: nil, works: [work]),
                Round.Part(operation: nil, works: [inner], isCertain: isCertain),
            ])
    }

    /// Adds to a queue that nothing keeps.
    func addToTemporary(_ step: Step) {
        let queue = OperationQueue(width: [1, 2, -1][step.style % 3])
        let home = Home(unwatched: step.queue, round.violations)
        let works = (0..<step.count).map { _ in Work(step.id, in: home) }
        Self.add(
            works.map { body(of: $0) }, as: step, to: queue, suspends: round.plan.suspends)
        round.expectRelease(of: queue)
        round.record(step, [Round.Part(operation: nil, works: works)])
        // The round waits for the queue, which it does not keep.
        let tasks = round.tasks
        tasks.enter()
        queue.addBarrierBlock { tasks.leave() }
    }

    /// Lets a task open a scope, which returns when its queue is empty.
    func addToScope(_ step: Step) {
        let home = Home(unwatched: step.queue, round.violations)
        let works = (0..<step.count).map { _ in Work(step.id, in: home) }
        let bodies = works.map { body(of: $0) }
        ScopeTask(step, works, bodies, home, round).begin()
    }

    /// Adds blocks and bodies to a queue that the model does not know.
    static func add(
        _ bodies: [@Sendable () -> Void], as step: Step, to queue: OperationQueue,
        suspends: Bool
    ) {
        for (number, body) in bodies.enumerated() {
            if number % 3 == 1, suspends {
                queue.add { () async in
                    await Pause.perform(step.style, step.hops)
                    body()
                }
            } else {
                queue.addOperation(body)
            }
        }
    }
}
