#if DurableJobs
import DurableJobs
import Operations
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.timeLimit(.minutes(5)))
struct DependencyContractTests {
    @Test(arguments: StoreKind.allCases)
    func resultsFlowToDependents(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let first = try await queue.enqueue(Echo(text: "one"))
            let second = try await queue.enqueue(Echo(text: "two"))
            let join = try await queue.enqueue(
                Join(parts: [first, second]), after: first, second)
            #expect(try await queue.info(join.id)?.state == .blocked)
            #expect(
                try await queue.explain(join.id)
                    == "job \(join.id) ('join') waits for 2 of 2 (\(first.id), \(second.id)), "
                    + "both available")
            try await withWorker(queue, [Echo.self, Join.self]) { _ async throws in
                #expect(try await join.value == "one two")
                // The dependencies have ended, so this one starts at once.
                let late = try await queue.enqueue(Join(parts: [first]), after: first)
                #expect(try await late.value == "one")
            }
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let failures: Int
        let condition: DependencyCondition
        let state: JobState
        let isLate: Bool

        var testDescription: String {
            "\(failures) failures, \(condition), \(isLate ? "enqueued after the end" : "")"
        }

        static let all = [false, true].flatMap { isLate in
            [
                Case(failures: 0, condition: .success, state: .completed, isLate: isLate),
                Case(failures: 0, condition: .failure, state: .cancelled, isLate: isLate),
                Case(failures: 0, condition: .always, state: .completed, isLate: isLate),
                Case(failures: 1, condition: .success, state: .cancelled, isLate: isLate),
                Case(failures: 1, condition: .failure, state: .completed, isLate: isLate),
                Case(failures: 1, condition: .always, state: .completed, isLate: isLate),
            ]
        }
    }

    @Test(arguments: StoreKind.allCases, Case.all)
    func conditionsDecideWhetherTheDependentRuns(_ kind: StoreKind, _ item: Case) async throws {
        try await withQueue(kind) { queue async throws in
            let types: [any Job.Type] = [Flaky.self, Echo.self]
            let first = try await queue.enqueue(Flaky(failures: item.failures))
            var dependent: JobHandle<String>?
            if !item.isLate {
                dependent = try await queue.enqueue(
                    Echo(text: "after"), after: first.on(item.condition))
            }
            try await withWorker(queue, types) { _ async throws in
                _ = try? await first.value
                let handle: JobHandle<String>
                if let dependent {
                    handle = dependent
                } else {
                    handle = try await queue.enqueue(
                        Echo(text: "after"), after: first.on(item.condition))
                }
                _ = try? await handle.value
                #expect(try await queue.info(handle.id)?.state == item.state)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func failureCancelsTheWholeChainAndReachesItsHandler(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let first = try await queue.enqueue(Flaky(failures: 1))
            let second = try await queue.enqueue(Echo(text: "2"), after: first)
            let third = try await queue.enqueue(Echo(text: "3"), after: second)
            // Cancelled because of a failure before it: that is a failure for the handler.
            let handler = try await queue.enqueue(Echo(text: "handled"), after: third.on(.failure))
            try await withWorker(queue, [Flaky.self, Echo.self]) { _ async throws in
                #expect(try await handler.value == "handled")
                let error = await #expect(throws: JobCancellation.self) { try await third.value }
                #expect(
                    error?.reason == "job \(second.id), on which it depends, was cancelled")
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func cancelledJobIsNoFailure(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let first = try await queue.enqueue(Echo(text: "1"))
            let handler = try await queue.enqueue(Echo(text: "handler"), after: first.on(.failure))
            let always = try await queue.enqueue(Echo(text: "always"), after: first.on(.always))
            try await queue.cancel(first.id, because: "the album was deleted")
            #expect(try await queue.info(handler.id)?.state == .cancelled)
            #expect(try await queue.info(always.id)?.state == .available)
            #expect(try await queue.info(first.id)?.error == "the album was deleted")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func wideDependentStartsAfterAllOfItsDependencies(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let board = Board.newName()
            let parts = try await queue.enqueue((0..<150).map { Note(board: board, line: "\($0)") })
            let failing = try await queue.enqueue(Flaky(failures: 1))
            var graph = JobGraph()
            let last = graph.add(Note(board: board, line: "last"), after: parts)
            let never = graph.add(Note(board: board, line: "never"), after: parts + [failing])
            let handles = try await queue.enqueue(graph)
            try await withWorker(queue, [Note.self, Flaky.self]) { _ async throws in
                _ = try await handles[last].value
                await #expect(throws: JobCancellation.self) { try await handles[never].value }
            }
            #expect(Board.read(board).count == 151)
            #expect(Board.read(board).last == "last")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func graphIsStoredInItsOrder(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let board = Board.newName()
            var graph = JobGraph()
            let last = graph.add(Note(board: board, line: "last"))
            let middle = graph.add(Note(board: board, line: "middle"))
            let first = graph.add(Note(board: board, line: "first"))
            graph.addDependency(of: last, on: middle)
            graph.addDependency(of: middle, on: first)
            graph.addDependency(of: last, on: first)
            let handles = try await queue.enqueue(graph)
            try await withWorker(queue, [Note.self]) { _ async throws in
                _ = try await handles[last].value
            }
            #expect(Board.read(board) == ["first", "middle", "last"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func cyclesAndUnknownJobsAreRefused(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            var graph = JobGraph()
            let echo = graph.add(Echo(text: ""))
            let flaky = graph.add(Flaky(failures: 0))
            graph.addDependency(of: echo, on: flaky)
            graph.addDependency(of: flaky, on: echo)
            let cyclic = graph
            let error = await #expect(throws: JobError.self) { try await queue.enqueue(cyclic) }
            #expect(error == .dependencyCycle(["echo", "flaky", "echo"]))
            #expect(
                error?.description == "jobs wait for each other: 'echo' → 'flaky' → 'echo'")

            let unknown = JobDependency(id: JobID(4711), condition: .success)
            let other = await #expect(throws: JobError.self) {
                try await queue.enqueue(Echo(text: ""), after: unknown)
            }
            #expect(other == .unknownJobs([JobID(4711)]))
            #expect(try await queue.counts().isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func archivedJobsAreDependenciesToo(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let first = try await queue.enqueue(Echo(text: "old"))
            try await withWorker(queue, [Echo.self, Join.self]) { _ async throws in
                _ = try await first.value
                try await published(queue)
                #expect(try await queue.prune(endedFor: .zero) == 1)
                #expect(try await queue.counts().isEmpty)
                let join = try await queue.enqueue(Join(parts: [first]), after: first)
                #expect(try await join.value == "old")
                #expect(try await queue.info(first.id)?.state == .completed)
            }
        }
    }
}

/// The pruner compares times of whole milliseconds.
private func published(_ queue: JobQueue) async throws {
    let start = try await queue.store.now()
    while try await queue.store.now() <= start { await Task.yield() }
}
#endif
