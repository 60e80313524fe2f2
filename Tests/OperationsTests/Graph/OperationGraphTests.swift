import OperationsTestKit
import TestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct OperationGraphTests {
    struct Broken: Error, Equatable, CustomStringConvertible {
        var description: String { "no connection" }
    }
    let ran = Recorder<String>()

    private func block(_ name: String) -> BlockOperation {
        let operation = BlockOperation { [ran] in ran.record(name) }
        operation.name = name
        return operation
    }

    private func failing(_ name: String) -> TypedOperation<Void> {
        let operation = TypedOperation<Void> { throw Broken() }
        operation.name = name
        return operation
    }

    // MARK: Order

    @Test func itRunsInItsOrder() async throws {
        let (a, b, c, d, e) = (block("a"), block("b"), block("c"), block("d"), block("e"))
        let hasNotes = ran.events.isEmpty
        let graph = OperationGraph("publish") {
            InOrder {
                a
                Concurrently {
                    b
                    InOrder {
                        c; d
                    }
                }
                e
            }
            if hasNotes { block("notes") } else { block("none") }
            for name in ["x", "y"] { block(name) }
            [block("z")]
            OperationGraph("inner") { block("i") }
        }
        #expect("\(graph)" == "graph 'publish' (10 operations)")
        #expect(a.dependencies.isEmpty && e.dependencies.isEmpty)
        try await OperationQueue().run(graph)
        #expect(Set(ran.events) == ["a", "b", "c", "d", "e", "notes", "x", "y", "z", "i"])
        let places = Dictionary(uniqueKeysWithValues: zip(ran.events, 0...))
        for (first, second) in [("a", "b"), ("a", "c"), ("c", "d"), ("b", "e"), ("d", "e")] {
            #expect((places[first] ?? 99) < (places[second] ?? -1))
        }
        #expect(e.dependencies == [b, d])
    }

    @Test func emptyItemsArePassedOver() async throws {
        let (a, b) = (block("a"), block("b"))
        let isNeeded = ran.events.count > 0
        try await OperationQueue().run(
            OperationGraph {
                InOrder {
                    a
                    if isNeeded { block("c") }
                    Concurrently {}
                    b
                }
            })
        #expect(b.dependencies == [a] && ran.events == ["a", "b"])
        try await OperationQueue().run(OperationGraph {})
    }

    @Test func byPlainFunctions() async throws {
        let (a, b, c) = (block("a"), block("b"), block("c"))
        var graph = OperationGraph("plain", [a])
        graph.connect(b, before: a)
        graph.connect(a, before: c, on: .always)
        graph.connect(b, before: c)
        #expect(graph.operations == [a, b, c])
        try graph.validate()
        try await OperationQueue().run(graph)
        #expect(ran.events == ["b", "a", "c"])
    }

    @Test func resultsFlowThroughIt() async throws {
        let number = TypedOperation { 3 }
        let text = TypedOperation(after: number) { "\($0)" }
        try OperationQueue().add(
            OperationGraph {
                text; number
            })
        #expect(try await text.value == "3")
    }

    // MARK: What is wrong

    @Test func aCycleIsNamedAndNothingIsTouched() async {
        let (build, test, sign, notes) = (block("build"), block("test"), block("sign"), block("n"))
        build.addDependency(sign)
        let graph = OperationGraph("publish") {
            InOrder {
                build; test; sign
            }
            notes
        }
        let queue = OperationQueue()
        let error = await #expect(throws: OperationGraphError.self) { try await queue.run(graph) }
        #expect(error == .cycle(["'build'", "'test'", "'sign'", "'build'"]))
        #expect(
            error?.description
                == "'build' → 'test' → 'sign' → 'build' is a cycle: remove one of these "
                + "dependencies")
        #expect(test.dependencies.isEmpty && sign.dependencies.isEmpty)
        #expect(build.dependencies == [sign] && queue.operationCount == 0)
        // None of them is spoilt by it.
        build.removeDependency(sign)
        try? await queue.run(graph)
        #expect(Set(ran.events) == ["build", "test", "sign", "n"])
    }

    @Test func anOperationBeforeItselfIsACycle() {
        let a = block("a")
        var graph = OperationGraph()
        graph.connect(a, before: a)
        #expect(throws: OperationGraphError.cycle(["'a'", "'a'"])) { try graph.validate() }
    }

    @Test func aCycleThroughOperationsOutside() async {
        let (a, b, outside) = (block("a"), block("b"), block("outside"))
        let queue = suspendedQueue()
        outside.addDependency(b)
        queue.addOperation(outside)
        a.addDependency(outside)
        #expect(throws: OperationGraphError.cycle(["'a'", "'b'", "'outside'", "'a'"])) {
            try queue.add(
                OperationGraph {
                    InOrder {
                        a; b
                    }
                })
        }
        outside.cancel()
        await queue.drain()
    }

    @Test func aMissingInput() async throws {
        let (a, forgotten) = (block("a"), block("forgotten"))
        a.addDependency(forgotten)
        let queue = OperationQueue()
        let graph = OperationGraph {
            InOrder {
                block("b"); a
            }
        }
        let error = #expect(throws: OperationGraphError.self) { try queue.add(graph) }
        #expect(error == .missingInput(operation: "'a'", dependency: "'forgotten'"))
        #expect(
            error?.description
                == "'a' waits for 'forgotten', which is in no queue and not in the graph: add it to one of "
                + "them, or remove the dependency")
        #expect(a.dependencies == [forgotten] && queue.operationCount == 0)
        // In a queue, or finished, it is there.
        let other = suspendedQueue()
        other.addOperation(forgotten)
        try graph.validate()
        other.isSuspended = false
        await other.drain()
        try await queue.run(graph)
        #expect(ran.events == ["forgotten", "b", "a"])
    }

    @Test func aDuplicate() {
        let a = block("a")
        #expect(throws: OperationGraphError.duplicate("'a'")) {
            try OperationQueue().add(
                OperationGraph {
                    InOrder {
                        a; a
                    }
                })
        }
    }

    @Test func oneThatIsInAQueueOrOver() async {
        let (a, b) = (block("a"), block("b"))
        let queue = suspendedQueue()
        queue.addOperation(a)
        let graph = OperationGraph {
            InOrder {
                b; a
            }
        }
        #expect(throws: OperationGraphError.alreadyEnqueued("'a'")) { try graph.validate() }
        queue.isSuspended = false
        await queue.drain()
        #expect(throws: OperationGraphError.alreadyEnqueued("'a'")) { try queue.add(graph) }
        #expect(b.dependencies.isEmpty && a.dependencies.isEmpty)
        // What was promised is free again.
        queue.addOperation(b)
        await queue.drain()
        #expect(ran.events == ["a", "b"])
    }

    @Test func ofTwoThatRunItAtTheSameTimeOneDoes() async {
        for _ in 0..<(200 / slowness) {
            let operations = (0..<20).map { _ in block("x") }
            let graph = OperationGraph("twice", operations)
            let queue = OperationQueue()
            let results = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<2 {
                    group.addTask { (try? await queue.run(graph)) != nil }
                }
                return await group.reduce(into: [Bool]()) { $0.append($1) }
            }
            #expect(results.count { $0 } <= 1)
            await queue.drain()
        }
    }

    // MARK: Failures

    @Test func theFirstFailureIsThrownWhenAllHaveEnded() async {
        let (upload, receipt, log) = (failing("upload"), block("receipt"), block("log"))
        let graph = OperationGraph {
            InOrder {
                upload; receipt
            }
            InOrder(on: .always) {
                block("before"); log
            }
        }
        await #expect(throws: Broken()) { try await OperationQueue().run(graph) }
        #expect(receipt.isCancelled && ran.events == ["before", "log"])
        #expect(receipt.cancellationReason?.description == "'upload' failed: no connection")
    }

    @Test func aFailureThatIsMadeUpForIsNotThrown() async throws {
        let upload = failing("upload")
        try await OperationQueue().run(
            OperationGraph {
                InOrder {
                    upload; block("receipt")
                }
                block("notes")
            }.with { $0.connect(upload, before: block("clean up"), on: .failure) })
        #expect(ran.events.sorted() == ["clean up", "notes"])
    }

    @Test(arguments: [true, false])
    func aLateOneThatIsMadeUpForIsNotThrown(hasDeadline: Bool) async throws {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let download = TypedOperation<Void> { try await untilCancelled() }
        download.apply(hasDeadline ? .deadline(in: .seconds(1)) : .timeout(.seconds(1)))
        async let run: Void = queue.run(
            OperationGraph {
                InOrder(on: .failure) {
                    download; block("fallback")
                }
            })
        #expect(await comesTrue { download.status.phase == .executing })
        await clock.advance(by: .seconds(1), whenSleepers: 1)
        try await run
        #expect(ran.events == ["fallback"])
    }

    @Test func aCancelledTaskTouchesNothingOfAnInvalidGraph() async {
        let other = suspendedQueue()
        let member = block("member")
        other.addOperation(member)
        let graph = OperationGraph { member }
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await OperationQueue().run(graph)
        }
        task.cancel()
        await #expect(throws: OperationGraphError.self) { try await task.value }
        #expect(!member.isCancelled)
        other.cancelAllOperations()
    }

    @Test func oneThatEndsBeforeTheRunBeginsIsCounted() async throws {
        final class Impatient: StateKeepingOperation, @unchecked Sendable {
            override func cancel() {
                super.cancel()
                stage = .finished
            }
        }
        let (a, b) = (block("a"), Impatient())
        // Told when the run makes its edges.
        let observation = b.observe(\.dependencies) { operation, _ in operation.cancel() }
        await #expect(throws: OperationCancellation.self) {
            try await OperationQueue().run(
                OperationGraph {
                    InOrder {
                        a; b
                    }
                })
        }
        observation.invalidate()
    }

    @Test func whatIsNotNeededIsNotMissed() async throws {
        try await OperationQueue().run(
            OperationGraph {
                InOrder(on: .failure) {
                    block("good"); block("clean up")
                }
            })
        #expect(ran.events == ["good"])
    }

    @Test func cancellingOneOrTheTask() async {
        let queue = suspendedQueue()
        let (a, b) = (block("a"), block("b"))
        let task = Task {
            try await queue.run(
                OperationGraph {
                    InOrder {
                        a; b
                    }
                })
        }
        #expect(await comesTrue { queue.operationCount == 2 })
        a.cancel(because: "enough")
        let error = await #expect(throws: OperationCancellation.self) { try await task.value }
        #expect(error?.description == "'a' was cancelled: enough")

        let (c, d) = (block("c"), block("d"))
        let other = Task {
            try await queue.run(
                OperationGraph {
                    InOrder {
                        c; d
                    }
                })
        }
        #expect(await comesTrue { queue.operationCount == 2 })
        other.cancel()
        await #expect(throws: CancellationError.self) { try await other.value }
        #expect(c.isCancelled && d.isCancelled && queue.operationCount == 0)
        #expect(c.cancellationReason?.description == "the task that waited for it was cancelled")
        #expect(ran.events.isEmpty)
    }

    @Test func aLargeOne() async throws {
        let count = 20_000 / slowness
        let (queue, ran) = (OperationQueue(), Tally())
        try await queue.run(
            OperationGraph {
                InOrder {
                    for _ in 0..<count { BlockOperation { ran.increment() } }
                }
            })
        #expect(ran.value == count)
    }
}

extension OperationGraph {
    fileprivate func with(_ change: (inout OperationGraph) -> Void) -> OperationGraph {
        var graph = self
        change(&graph)
        return graph
    }
}
