import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct OperationGraphTests {
    struct Broken: Error, Equatable, CustomStringConvertible {
        var description: String { "no connection" }
    }
    let ran = TestRecorder<String>()

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

    @Test func graphRunsInDeclaredOrder() async throws {
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
        let positions = Dictionary(uniqueKeysWithValues: zip(ran.events, 0...))
        for (first, second) in [("a", "b"), ("a", "c"), ("c", "d"), ("b", "e"), ("d", "e")] {
            #expect((positions[first] ?? 99) < (positions[second] ?? -1))
        }
        #expect(e.dependencies == [b, d])
    }

    @Test func emptyItemsAreSkipped() async throws {
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

    @Test func graphCanBeBuiltWithoutResultBuilder() async throws {
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

    @Test func resultsFlowThroughGraph() async throws {
        let number = TypedOperation { 3 }
        let text = TypedOperation(after: number) { "\($0)" }
        try OperationQueue().add(
            OperationGraph {
                text; number
            })
        #expect(try await text.value == "3")
    }

    // MARK: Invalid graphs

    @Test func cycleIsNamedAndNothingChanges() async {
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
        // All of the operations can still be used.
        build.removeDependency(sign)
        try? await queue.run(graph)
        #expect(Set(ran.events) == ["build", "test", "sign", "n"])
    }

    @Test func operationBeforeItselfIsCycle() {
        let a = block("a")
        var graph = OperationGraph()
        graph.connect(a, before: a)
        #expect(throws: OperationGraphError.cycle(["'a'", "'a'"])) { try graph.validate() }
    }

    @Test func cycleThroughOutsideOperationIsFound() async {
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

    @Test func missingInputIsRefused() async throws {
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
        // An input that is in a queue, or has finished, is not missing.
        let other = suspendedQueue()
        other.addOperation(forgotten)
        try graph.validate()
        other.isSuspended = false
        await other.drain()
        try await queue.run(graph)
        #expect(ran.events == ["forgotten", "b", "a"])
    }

    @Test func duplicateIsRefused() {
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

    @Test func enqueuedOrFinishedOperationIsRefused() async {
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
        // The refused graph no longer reserves its operations.
        queue.addOperation(b)
        await queue.drain()
        #expect(ran.events == ["a", "b"])
    }

    @Test func atMostOneConcurrentRunOfGraphSucceeds() async {
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

    @Test func firstFailureIsThrownAfterAllHaveEnded() async {
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

    @Test func compensatedFailureIsNotThrown() async throws {
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
    func compensatedExpiryIsNotThrown(hasDeadline: Bool) async throws {
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

    @Test func cancelledTaskChangesNothingInInvalidGraph() async {
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

    @Test func operationThatEndsBeforeRunBeginsIsCounted() async throws {
        final class Impatient: StateKeepingOperation, @unchecked Sendable {
            override func cancel() {
                super.cancel()
                stage = .finished
            }
        }
        let (a, b) = (block("a"), Impatient())
        // The observer is called when the run adds its dependencies.
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

    @Test func unneededCompensationIsNoFailure() async throws {
        try await OperationQueue().run(
            OperationGraph {
                InOrder(on: .failure) {
                    block("good"); block("clean up")
                }
            })
        #expect(ran.events == ["good"])
    }

    @Test func cancellingOperationOrTaskEndsRun() async {
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

    @Test func largeGraphRuns() async throws {
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
