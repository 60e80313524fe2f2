import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct BlockGraphTests {
    struct Broken: Error, Equatable {}
    let ran = TestRecorder<String>()

    private func block(_ name: String) -> @Sendable () -> Void {
        { [ran] in ran.record(name) }
    }

    /// A queue on which nodes run as operations.
    private func plainOrNot(_ isPlain: Bool) -> OperationQueue {
        let queue = OperationQueue()
        if !isPlain { queue.progress.totalUnitCount = -1 }
        return queue
    }

    // MARK: Order and results

    @Test(arguments: [true, false])
    func resultsFlowAlongEdges(isPlain: Bool) async throws {
        var graph = BlockGraph("tiles")
        let load = graph.add("load") { 7 }
        let tiles = (0..<20).map { number in graph.add(after: load) { $0 * 100 + number } }
        let sum = graph.add("sum", after: tiles) { $0.reduce(0, +) }
        let text = graph.add(after: sum, load) { "\($0) of \($1)" }
        #expect("\(graph)" == "graph 'tiles' (23 nodes)")
        let results = try await plainOrNot(isPlain).run(graph)
        #expect(try results[text] == "14190 of 7")
        #expect(try results[tiles[3]] == 703)
        #expect(try results[load] == 7)
    }

    @Test(arguments: [true, false])
    func nodesRunAfterThoseBeforeThem(isPlain: Bool) async throws {
        var graph = BlockGraph()
        let a = graph.add(body: block("a"))
        let b = graph.add(after: a, body: block("b"))
        let c = graph.add(after: a, body: block("c"))
        let d = graph.add(body: block("d"))
        graph.connect(b, before: c)
        graph.connect(c, before: d)
        graph.add(after: [b, c, d], body: block("e"))
        try await plainOrNot(isPlain).run(graph)
        #expect(ran.events == ["a", "b", "c", "d", "e"])
    }

    @Test func graphRunsAgainAndAtTheSameTime() async throws {
        let count = Tally()
        var graph = BlockGraph()
        let first = graph.add { count.increment() }
        let second = graph.add(after: first) { $0 + 1 }
        let queue = OperationQueue()
        for _ in 0..<3 { try await queue.run(graph) }
        let runs = try (0..<100).map { _ in try queue.add(graph) }
        for run in runs {
            let results = try await run.value
            #expect(try results[second] == results[first] + 1)
        }
        // A change of the graph leaves runs and copies as they are.
        let copy = graph
        let run = try queue.add(graph)
        graph.add(after: second) { _ in }
        #expect(copy.count == 2 && graph.count == 3)
        _ = try await run.value
        _ = try await queue.run(graph)
        #expect(count.value == 105)
    }

    /// Copies that differ are sealed each by itself, whichever runs first.
    @Test func copiesAreGraphsOfTheirOwn() async throws {
        let queue = OperationQueue()
        var graph = BlockGraph("one")
        graph.add(body: block("a"))
        var copy = graph
        copy.name = "two"
        let node = copy.add { 2 }
        #expect(try queue.add(graph).name == "one")
        let run = try queue.add(copy)
        #expect(try await run.value[node] == 2 && run.name == "two")
        await queue.drain()
        #expect(ran.events == ["a", "a"])
    }

    @Test func nodesOfOtherGraphsAreRefused() async {
        let results = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            var (graph, other) = (BlockGraph("g"), BlockGraph())
            graph.add { 1 }
            let node = other.add { 1 }
            _ = try await OperationQueue().run(graph)[node]
        }
        expect(results, says: "a node of another graph was given to the results of graph 'g'")
        let edge = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            var (graph, other) = (BlockGraph("g"), BlockGraph())
            graph.connect(other.add {}, before: graph.add {})
        }
        expect(edge, says: "a node of another graph was given to graph 'g'")
    }

    @Test(arguments: [true, false])
    func emptyGraphEnds(isPlain: Bool) async throws {
        try await plainOrNot(isPlain).run(BlockGraph())
        let queue = OperationQueue()
        try queue.add(BlockGraph("nothing"))
        await queue.drain()
        #expect(queue.operationCount == 0)
    }

    @Test func cycleIsNamed() async throws {
        var graph = BlockGraph("g")
        let (a, b) = (graph.add("a") {}, graph.add("b") {})
        let c = graph.add(after: b) {}
        graph.connect(a, before: b)
        graph.connect(c, before: a)
        let error = #expect(throws: OperationGraphError.self) { try OperationQueue().add(graph) }
        #expect(error == .cycle(["'a'", "'b'", "node 2 of graph 'g'", "'a'"]))
        await #expect(throws: OperationGraphError.self) { try await OperationQueue().run(graph) }
    }

    // MARK: The run as an operation

    @Test(arguments: [true, false])
    func runIsOneOperation(isPlain: Bool) async throws {
        let queue = plainOrNot(isPlain)
        var graph = BlockGraph("g")
        let a = graph.add(body: block("a"))
        graph.add(after: a, body: block("b"))
        let before = BlockOperation(block: block("before"))
        let after = BlockOperation(block: block("after"))
        queue.isSuspended = true
        let run = try queue.add(graph, .name("run"))
        run.addDependency(before)
        after.addDependency(run)
        run.completionBlock = { [ran] in ran.record("completed") }
        queue.addOperation(after)
        #expect(queue.operationCount == 2 && run.name == "run")
        queue.isSuspended = false
        queue.addOperation(before)
        await queue.drain()
        _ = await ran.wait(for: 5)
        #expect(ran.events.prefix(3) == ["before", "a", "b"])
        #expect(Set(ran.events) == ["before", "a", "b", "after", "completed"])
        #expect(run.isFinished && !run.isCancelled)
    }

    @Test(arguments: [true, false])
    func barrierWaitsForRun(isPlain: Bool) async throws {
        let queue = plainOrNot(isPlain)
        var graph = BlockGraph()
        var last = graph.add(body: block("node"))
        for _ in 0..<200 { last = graph.add(after: last, body: block("node")) }
        try queue.add(graph)
        queue.addBarrierBlock(block("barrier"))
        queue.addOperation(block("last"))
        await queue.drain()
        #expect(ran.events.count == 203)
        #expect(ran.events.suffix(2) == ["barrier", "last"])
    }

    /// The nodes have the turn of the run also as operations, however many there are.
    @Test func nodesAsOperationsGoBeforeWhatWasAddedLater() async throws {
        let queue = serialQueue()
        queue.progress.totalUnitCount = -1
        queue.isSuspended = true
        var graph = BlockGraph()
        for number in 0..<5_000 { graph.add { [ran] in ran.record("\(number)") } }
        queue.addOperation(block("before"))
        try queue.add(graph)
        queue.addOperation(block("after"))
        queue.addBarrierBlock(block("barrier"))
        queue.addOperation(block("last"))
        queue.isSuspended = false
        await queue.drain()
        let nodes = (0..<5_000).map { "\($0)" }
        #expect(ran.events == ["before"] + nodes + ["after", "barrier", "last"])
    }

    @Test(arguments: [true, false], [1, 3])
    func nodesRunUnderWidth(isPlain: Bool, width: Int) async throws {
        let queue = plainOrNot(isPlain)
        queue.maxConcurrentOperationCount = width
        let occupancy = Occupancy()
        var graph = BlockGraph()
        let first = graph.add {}
        for _ in 0..<300 {
            graph.add(after: first) {
                occupancy.enter()
                defer { occupancy.leave() }
                for _ in 0..<100 { _ = monotonicNanoseconds() }
            }
        }
        try queue.add(graph)
        try queue.add(graph)
        await queue.drain()
        #expect(occupancy.highest <= width)
    }

    @Test func suspensionHoldsNodesBack() async throws {
        let queue = OperationQueue()
        var graph = BlockGraph()
        let (begun, mayGoOn) = (Signal(), Signal())
        let first = graph.add {
            begun.send()
            _ = mayGoOn.wait()
        }
        let second = graph.add(after: first, body: block("second"))
        graph.add(after: second, body: block("third"))
        let run = try queue.add(graph)
        await #expect(begun.arrives())
        queue.isSuspended = true
        mayGoOn.send()
        await #expect(comesTrue { queue.snapshot { $0.slots.claims.isEmpty } })
        #expect(ran.events == [] && !run.isFinished)
        queue.isSuspended = false
        _ = try await run.value
        #expect(ran.events == ["second", "third"])
    }

    /// Also if a worker has claimed the run together with what was added behind it.
    @Test(arguments: [true, false])
    func nodesGoBeforeOperationsOfTheirPriority(claimsMany: Bool) async throws {
        let queue = serialQueue()
        queue.isSuspended = true
        // Operations this short are claimed at once.
        if claimsMany { queue.event { $0.slots.pace.typicalNanoseconds = 10 } }
        var graph = BlockGraph()
        let first = graph.add(body: block("first"))
        graph.add(after: first, body: block("second"))
        let urgent = BlockOperation(block: block("urgent"))
        urgent.queuePriority = .high
        let third = graph.add(after: first) { queue.addOperation(urgent) }
        graph.add(after: third, body: block("fourth"))
        try queue.add(graph)
        queue.addOperation(block("later"))
        queue.isSuspended = false
        await queue.drain()
        #expect(ran.events == ["first", "second", "urgent", "fourth", "later"])
    }

    // MARK: Failures

    @Test(arguments: [true, false])
    func failureHoldsBackWhatNeedsSuccess(isPlain: Bool) async throws {
        var graph = BlockGraph("g")
        let load = graph.add("load") { () throws -> Int in throw Broken() }
        let use = graph.add("use", after: load) { $0 + 1 }
        let further = graph.add(after: use) { [ran] _ in ran.record("further") }
        let other = graph.add(body: block("other"))
        graph.connect(load, before: graph.add(body: block("always")), on: .always)
        let run = try plainOrNot(isPlain).add(graph)
        await #expect(throws: Broken.self) { try await run.value }
        #expect(Set(ran.events) == ["other", "always"])
        #expect(run.error is Broken)
        let results = try #require(run as? BlockGraphRun).results
        #expect(throws: Broken.self) { try results.result(of: load) }
        let reason = "node 2 of graph 'g' was cancelled: 'load' failed: Broken()"
        let error = #expect(throws: OperationCancellation.self) {
            try results.result(of: further)
        }
        #expect(error.map { "\($0)" } == reason)
        try results.result(of: other)
    }

    @Test(arguments: [true, false])
    func failureCanBeHandled(isPlain: Bool) async throws {
        var graph = BlockGraph()
        let load = graph.add("load") { throw Broken() }
        let use = graph.add("use", after: load, body: block("use"))
        graph.add("report", after: use, on: .failure, body: block("report"))
        let fine = graph.add("fine", body: block("fine"))
        let handler = graph.add("unneeded", after: fine, on: .failure, body: block("unneeded"))
        graph.add(after: handler, body: block("behind"))
        let results = try await plainOrNot(isPlain).run(graph)
        #expect(Set(ran.events) == ["report", "fine"])
        #expect(throws: OperationCancellation.self) { try results[use] }
    }

    // MARK: Cancellation

    @Test(arguments: [true, false])
    func cancelledRunBeginsNoFurtherNode(isPlain: Bool) async throws {
        let queue = plainOrNot(isPlain)
        var graph = BlockGraph("g")
        let (begun, stopped) = (Signal(), Signal())
        let first = graph.add("first") { [ran] in
            let current = Operation.current
            begun.send()
            _ = stopped.wait()
            ran.record("\(current?.name ?? "none") \(current?.isCancelled == true)")
        }
        graph.add(after: first, body: block("second"))
        let run = try queue.add(graph)
        await #expect(begun.arrives())
        queue.isSuspended = true
        run.cancel(because: "the test")
        #expect(!run.isFinished)
        stopped.send()
        let error = await #expect(throws: OperationCancellation.self) { try await run.value }
        #expect(error.map { "\($0)" } == "'g' was cancelled: the test")
        #expect(ran.events == ["first true"])
        await queue.drain()
    }

    /// The operation of the node is made only then, and is cancelled at once.
    @Test(arguments: [true, false])
    func nodeMayAskForItsCancellationAfterItsRunWasCancelled(isPlain: Bool) async throws {
        var graph = BlockGraph("g")
        let (begun, isCancelled) = (Signal(), Signal())
        graph.add("long") { [ran] in
            begun.send()
            _ = isCancelled.wait()
            do {
                try Operation.checkCancellation()
            } catch {
                let current = Operation.current
                ran.record("\(current?.name ?? "none") \(current?.isCancelled == true)")
                throw error
            }
        }
        let run = try plainOrNot(isPlain).add(graph)
        await #expect(begun.arrives())
        run.cancel(because: "the test")
        isCancelled.send()
        await run.finished()
        #expect(ran.events == ["long true"])
        #expect(run.cancellationReason.map { "\($0)" } == "the test")
    }

    @Test(arguments: [true, false])
    func cancelledRunLeavesSuspendedQueue(isPlain: Bool) async throws {
        let queue = plainOrNot(isPlain)
        var graph = BlockGraph()
        let suspends = graph.add { queue.isSuspended = true }
        for _ in 0..<100 { graph.add(after: suspends, body: block("node")) }
        let run = try queue.add(graph)
        await #expect(comesTrue { queue.isSuspended && queue.snapshot { $0.slots.claims.isEmpty } })
        queue.cancelAllOperations()
        await queue.drain()
        #expect(run.isCancelled && ran.events.isEmpty)
    }

    /// The nodes are cancelled in one hold of the lock, and may end before the run is cancelled.
    @Test func runIsCancelledAlthoughItsNodesEndFirst() async throws {
        final class DelaysOthers: Operation, @unchecked Sendable {
            let isRunOver = Signal()

            override func cancel() {
                super.cancel()
                isRunOver.wait()
            }
        }
        let queue = plainOrNot(false)
        let (first, dependency) = (DelaysOthers(), Operation())
        first.addDependency(dependency)
        queue.addOperation(first)
        var graph = BlockGraph()
        let suspends = graph.add { queue.isSuspended = true }
        for _ in 0..<10 { graph.add(after: suspends, body: block("node")) }
        let run = try queue.add(graph)
        run.completionBlock = { first.isRunOver.send() }
        await #expect(comesTrue { queue.isSuspended && queue.snapshot { $0.slots.claims.isEmpty } })
        queue.cancelAllOperations()
        await queue.drain()
        #expect(run.isCancelled && ran.events.isEmpty)
    }

    @Test func cancelledTaskCancelsRun() async throws {
        let queue = OperationQueue()
        var graph = BlockGraph()
        let (begun, mayEnd) = (Signal(), Signal())
        graph.add {
            begun.send()
            _ = mayEnd.wait()
        }
        let task = Task { [graph] in try await queue.run(graph) }
        await #expect(begun.arrives())
        task.cancel()
        mayEnd.send()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func cancelledNodeHoldsBackWhatNeedsSuccess() async throws {
        var graph = BlockGraph("g")
        let first = graph.add("first") { () -> Void in
            Operation.current?.cancel(because: "no need")
        }
        graph.add(after: first, body: block("second"))
        let error = await #expect(throws: OperationCancellation.self) {
            try await OperationQueue().run(graph)
        }
        #expect(error.map { "\($0)" } == "'first' was cancelled: no need")
        #expect(ran.events.isEmpty)
    }

    // MARK: Nodes as operations

    @Test func nodeIsAnOperationToWhoeverAsks() async throws {
        let queue = OperationQueue()
        var graph = BlockGraph("g")
        let finished = TestRecorder<Operation>()
        graph.add("named") { [ran] in
            guard let current = Operation.current else { return }
            ran.record("\(current.name ?? "") \(current.isExecuting) \(current.isFinished)")
            finished.record(current)
            #expect(Operation.current === current)
            let inner = BlockOperation { [ran] in ran.record("\(Operation.current?.name ?? "")") }
            inner.name = "inner"
            inner.start()
            #expect(Operation.current === current)
        }
        graph.add { [ran] in ran.record("\(Operation.current?.name ?? "")") }
        let run = try queue.add(graph)
        _ = try await run.value
        #expect(Set(ran.events) == ["named true false", "inner", "node 1 of graph 'g'"])
        #expect(finished.events[0].isFinished)
        await finished.events[0].finished()
        #expect(queue.operationCount == 0)
    }

    @Test func nodeMayWaitForOperationsOfItsQueue() async throws {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 2
        var graph = BlockGraph()
        graph.add { [ran] in
            queue.add { ran.record("inner") }.waitUntilFinished()
            ran.record("outer")
        }
        try await queue.run(graph)
        #expect(ran.events == ["inner", "outer"])
    }

    @Test func nodeMayRunAGraph() async throws {
        let queue = OperationQueue()
        var graph = BlockGraph()
        let sum = graph.add { () async throws -> Int in
            var inner = BlockGraph()
            let parts = (1...10).map { number in inner.add { number } }
            let sum = inner.add(after: parts) { $0.reduce(0, +) }
            return try await queue.run(inner)[sum]
        }
        let double = graph.add(after: sum) { $0 * 2 }
        #expect(try await queue.run(graph)[double] == 110)
    }

    @Test func traitsOfNodesHold() async throws {
        var graph = BlockGraph()
        let attempts = Tally()
        let node = graph.add("again", .retry(3)) { () throws -> Int in
            if attempts.increment() < 3 { throw Broken() }
            return attempts.value
        }
        let queue = OperationQueue()
        #expect(try await queue.run(graph)[node] == 3)
        let limited = try queue.add(graph, .timeout(.seconds(60)), .priority(.high))
        #expect(try await limited.value[node] == 4)
    }

    @Test func observersSeeNodes() async throws {
        let queue = OperationQueue()
        let counts = TestRecorder<Int>()
        let token = queue.observe(\.operationCount, options: .new) { _, change in
            counts.record(change.newValue ?? 0)
        }
        defer { token.invalidate() }
        var graph = BlockGraph()
        for _ in 0..<3 { graph.add {} }
        try await queue.run(graph)
        await queue.drain()
        #expect(counts.events.max() == 4)
    }

    /// The nodes may all end, and with them the run, while the thread that has added them is still
    /// busy with the run. Nobody else has a reference to it then.
    @Test func forgottenRunMayEndWhileItBegins() async throws {
        let queue = plainOrNot(false)
        for _ in 0..<20_000 {
            var graph = BlockGraph()
            graph.add { Operation.current?.cancel() }
            graph.add { () async in }
            try queue.add(graph).cancel()
        }
        await queue.drain()
    }

    @Test func graphIsAMemberOfAGraph() async throws {
        var blocks = BlockGraph("blocks")
        let a = blocks.add(body: block("a"))
        blocks.add(after: a, body: block("b"))
        let last = BlockOperation(block: block("last"))
        let graph = OperationGraph {
            InOrder {
                blocks
                last
            }
        }
        try await OperationQueue().run(graph)
        #expect(ran.events == ["a", "b", "last"])
        let group = GroupOperation("group") { blocks }
        group.start()
        _ = try await group.value
        #expect(ran.events == ["a", "b", "last", "a", "b"])
    }

    @Test func runCanBeStartedByHand() async throws {
        var graph = BlockGraph()
        let node = graph.add { 5 }
        let run = BlockGraphRun(try graph.sealed())
        run.start()
        #expect(try await run.value[node] == 5)
    }

    @Test func graphRunsUnderADriver() throws {
        let scheduler = TestScheduler(seed: 1)
        let queue = scheduler.makeQueue()
        var graph = BlockGraph()
        let a = graph.add("a", body: block("a"))
        graph.add("b", after: a, body: block("b"))
        let run = try queue.add(graph)
        try scheduler.run()
        #expect(ran.events == ["a", "b"] && run.isFinished)
    }

    @Test func nodesRunInScopes() async throws {
        var graph = BlockGraph()
        let node = graph.add { 5 }
        let value = try await withOperationQueue { queue in
            try await queue.add(graph).value[node]
        }
        #expect(value == 5)
    }

    // MARK: Explanation

    @Test func runExplainsItsNodes() async throws {
        let queue = OperationQueue()
        queue.name = "q"
        queue.maxConcurrentOperationCount = 1
        let (begun, mayEnd) = (Signal(), Signal())
        var graph = BlockGraph("g")
        let first = graph.add("first") {}
        let second = graph.add("second", after: first) {
            begun.send()
            _ = mayEnd.wait()
        }
        let third = graph.add("third", after: first) {}
        graph.add(after: second, third) {}
        let run = try queue.add(graph)
        await #expect(begun.arrives())
        #expect(
            "\(run.explain())"
                == "'g' is executing on queue 'q': 1 of its 4 nodes has ended, 'second' runs, and 1 is ready."
        )
        mayEnd.send()
        _ = try await run.value
    }

    @Test func runAsOperationsExplainsItsNodes() async throws {
        let queue = plainOrNot(false)
        let (begun, mayEnd) = (Signal(), Signal())
        var graph = BlockGraph("g")
        let first = graph.add("first") {
            begun.send()
            _ = mayEnd.wait()
        }
        graph.add("second", after: first) {}
        let run = try queue.add(graph)
        await #expect(begun.arrives())
        let explanation = "\(run.explain())"
        #expect(explanation.hasPrefix("'g' is executing, and waits for 'first', 'second'."))
        mayEnd.send()
        _ = try await run.value
    }

    /// Two nodes hold both slots, and each waits for an operation that would need one.
    @Test func waitOfNodesThatCannotEndIsFound() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            endSoon()
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 2
            var graph = BlockGraph("g")
            for name in ["a", "b"] {
                graph.add(.name(name)) { queue.add("inner") {}.waitUntilFinished() }
            }
            _ = try? await queue.run(graph)
        }
        expect(result, says: "'inner'", "'a'", "'b'")
    }

    // MARK: Memory

    @Test func blocksAreReleasedWithGraphAndRuns() async throws {
        let releases = Tally()
        let queue = OperationQueue()
        do {
            let kept = Token(releases)
            var graph = BlockGraph()
            let node = graph.add { kept }
            let results = try await queue.run(graph)
            #expect(try results[node] === kept)
        }
        await queue.drain()
        await #expect(comesTrue { releases.value == 1 })
    }

    /// Each run is captured by a block of the next graph. Their release needs little stack.
    @Test func longChainsOfRunsAreReleased() async throws {
        let queue = OperationQueue()
        let releases = Tally()
        do {
            let token = Token(releases)
            var first = BlockGraph()
            first.add { _ = token }
            var last = try queue.add(first)
            for _ in 0..<20_000 {
                var graph = BlockGraph()
                graph.add { [last] in _ = last }
                last = try queue.add(graph)
            }
            _ = try await last.value
        }
        await queue.drain()
        await #expect(comesTrue { releases.value == 1 })
    }

    // MARK: Hostile

    /// A graph whose nodes fail or not, on any conditions, ends as a simple model says: run as
    /// blocks, as operations, and both several times at once.
    @Test(arguments: seeds(count: 40))
    func randomGraphEndsAsTheModelSays(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let model = RandomGraph(&random)
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1 + random.below(4)
        let observed = OperationQueue()
        observed.progress.totalUnitCount = -1
        for queue in [queue, observed] {
            let runs = try (0..<4).map { _ in
                let ran = TestRecorder<Int>()
                return (try queue.add(model.graph(ran)), ran)
            }
            for (run, ran) in runs {
                await run.finished()
                _ = run.error
                let results = try #require(run as? BlockGraphRun).results
                #expect(model.mistake(results, ran.events) == nil, "seed \(seed)")
            }
        }
    }
}

extension BlockGraphTests {
    /// Whatever happens to runs and to their queue: each run ends, no node runs twice, and each
    /// node of a run that was not cancelled runs.
    @Test(arguments: seeds(count: 30))
    func runsEndWhateverHappens(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1 + random.below(4)
        let runs = try (0..<8).map { _ in
            let marks = (0..<1 + random.below(300)).map { _ in Tally() }
            var graph = BlockGraph("g")
            let nodes = marks.map { mark in graph.add { mark.increment() } }
            for node in nodes.indices.dropFirst() {
                for _ in 0..<random.below(4) {
                    graph.connect(
                        nodes[random.below(node)], before: nodes[node],
                        on: random.happens(1, in: 3) ? .always : .success)
                }
            }
            return (operation: try queue.add(graph), marks: marks)
        }
        for _ in 0..<40 {
            let run = runs[random.below(runs.count)].operation
            switch random.below(8) {
            case 0 where random.happens(1, in: 4): run.cancel()
            case 1 where random.happens(1, in: 20): queue.cancelAllOperations()
            case 2: queue.isSuspended.toggle()
            case 3: queue.maxConcurrentOperationCount = 1 + random.below(4)
            case 4: queue.add(.priority(random.happens(1, in: 2) ? .high : .low)) {}
            case 5: run.queuePriority = random.happens(1, in: 2) ? .high : .veryLow
            case 6: _ = run.explain()
            default: await Task.yield()
            }
        }
        queue.isSuspended = false
        await queue.drain()
        for (run, marks) in runs {
            #expect(run.isFinished)
            let counts = marks.map(\.value)
            let least = run.isCancelled ? 0 : 1
            #expect(counts.allSatisfy { (least...1).contains($0) }, "seed \(seed)")
        }
        // The claim in which a run has begun may be retired after the run has left.
        await #expect(
            comesTrue {
                queue.snapshot {
                    $0.slots.taken == 0 && $0.ready.sources.isEmpty && $0.slots.claims.isEmpty
                }
            })
    }
}

/// A random graph, and how its nodes end.
private struct RandomGraph {
    private let fails: [Bool]
    private var edges: [(from: Int, to: Int, condition: DependencyCondition)] = []
    private var outcomes: [LifecycleState.Outcome] = []

    init(_ random: inout SplitMix64) {
        var fails: [Bool] = []
        for _ in 0..<1 + random.below(60) { fails.append(random.happens(1, in: 6)) }
        self.fails = fails
        for node in fails.indices {
            var before: [(from: Int, to: Int, condition: DependencyCondition)] = []
            for _ in 0..<(node == 0 ? 0 : random.below(4)) {
                let condition: DependencyCondition =
                    random.happens(1, in: 4)
                    ? .failure : random.happens(1, in: 3) ? .always : .success
                before.append((from: random.below(node), to: node, condition: condition))
            }
            let unmet = before.filter { !$0.condition.isMet(by: outcomes[$0.from]) }
            let ends = unmet.map { edge in
                edge.condition == .success && outcomes[edge.from] != .cancelled
                    ? LifecycleState.Outcome.failedUpstream : .cancelled
            }
            // Of several unmet conditions, the first in time decides.
            if Set(ends).count > 1 { before = [unmet[0]] }
            edges += before
            outcomes.append(ends.first ?? (fails[node] ? .failed : .succeeded))
        }
    }

    /// Makes the graph, whose nodes record that they run.
    func graph(_ ran: TestRecorder<Int>) -> BlockGraph {
        var graph = BlockGraph("random")
        let nodes = fails.enumerated().map { node, fails in
            graph.add("\(node)") {
                ran.record(node)
                if fails { throw BlockGraphTests.Broken() }
            }
        }
        for edge in edges {
            graph.connect(nodes[edge.from], before: nodes[edge.to], on: edge.condition)
        }
        return graph
    }

    /// Returns what is wrong with a run.
    func mistake(_ results: NodeResults, _ ran: [Int]) -> String? {
        let expected = outcomes.indices.filter { [.succeeded, .failed].contains(outcomes[$0]) }
        if ran.sorted() != expected { return "ran \(ran.sorted()), not \(expected)" }
        let places = Dictionary(uniqueKeysWithValues: zip(ran, 0...))
        for edge in edges {
            if let before = places[edge.from], let after = places[edge.to], before > after {
                return "\(edge) was not kept"
            }
        }
        for node in outcomes.indices {
            let isFine = results.failure(of: UInt32(node)) == nil
            let outcome = isFine ? .succeeded : results.outcome(of: UInt32(node))
            if outcome != outcomes[node] {
                return "\(node) ended as \(outcome), not as \(outcomes[node])"
            }
        }
        return nil
    }
}
