#if DurableJobs
import DurableJobs
import FoundationEssentials
import Operations
import Testing

/// The transactions of the protocol, without workers: every order that matters can be written down.
@Suite(.timeLimit(.minutes(5)))
struct LeaseContractTests {
    /// A worker that only exists in the store.
    private struct Ghost {
        let store: JobStore
        let id = UUID().uuidString
        let types = [PerformedJob(name: "echo", version: 1)]

        init(_ queue: JobQueue, lease: Duration = .seconds(60)) async throws {
            store = queue.store
            try await store.register(
                id, queue: "tests", host: "ghost", process: 1, lease: lease, performing: types)
        }

        func claim(_ count: Int = 1) async throws -> [ClaimedJob] {
            try await exchange([], wanted: count).claimed
        }

        func exchange(
            _ ended: [EndedAttempt], wanted: Int = 0, known: [JobID]? = nil
        ) async throws -> ExchangeAnswer {
            var exchange = Exchange(worker: id, queue: "tests")
            exchange.ended = ended
            exchange.wanted = wanted
            exchange.performed = types
            exchange.known = known
            return try await store.exchange(exchange)
        }

        /// Ends the lease.
        func die() async throws { try await store.unregister(id) }
    }

    private func result(_ text: String) -> AttemptVerdict {
        .completed(result: Data("\"\(text)\"".utf8), outputs: nil)
    }

    @Test(arguments: StoreKind.allCases)
    func aFencedWorkerCannotCommit(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Echo(text: ""))
            let (slow, quick) = (try await Ghost(queue), try await Ghost(queue))
            let old = try #require(try await slow.claim().first)
            try await slow.die()
            #expect(try await queue.store.rescue() == 1)
            let new = try #require(try await quick.claim().first)
            #expect(new.token.attempt == old.token.attempt + 1)

            // The slow worker cannot complete, fail or hand back the attempt of the quick one.
            for verdict in [
                result("slow"), .retry(error: "", after: .zero), .discarded(error: ""),
                .cancelled(reason: ""), .handedBack,
            ] {
                let answer = try await slow.exchange([EndedAttempt(old.token, verdict)])
                #expect(answer.verdicts == [.fenced])
                #expect(answer.isLeaseLost)
            }
            let answer = try await quick.exchange([EndedAttempt(new.token, result("quick"))])
            #expect(answer.verdicts == [.accepted(.completed)])
            #expect(try await handle.value == "quick")
            let late = try await slow.exchange([EndedAttempt(old.token, result("slow"))])
            #expect(late.verdicts == [.fenced])
            #expect(try await handle.value == "quick")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func aCommitMayBeRepeated(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let first = try await queue.enqueue(Echo(text: ""))
            let dependent = try await queue.enqueue(Echo(text: ""), after: first)
            let second = try await queue.enqueue(Echo(text: ""), .retry(1, backoff: .none))
            let ghost = try await Ghost(queue)
            let claimed = try await ghost.claim(2)
            let ended = [
                EndedAttempt(claimed[0].token, result("once")),
                EndedAttempt(claimed[1].token, .retry(error: "busy", after: .seconds(60))),
            ]
            #expect(claimed.map(\.token.job) == [first.id, second.id])
            for _ in 0..<3 {
                let answer = try await ghost.exchange(ended)
                #expect(answer.verdicts == [.accepted(.completed), .accepted(.retryable)])
            }
            #expect(try await queue.info(dependent.id)?.state == .available)
            // Archived jobs remember their token, too.
            let now = try await queue.store.now()
            while try await queue.store.now() <= now { await Task.yield() }
            try await queue.prune(endedFor: .zero)
            #expect(
                try await ghost.exchange(ended).verdicts
                    == [.accepted(.completed), .accepted(.retryable)])
            #expect(try await queue.info(second.id)?.error == "busy")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func oneJobIsClaimedByOneWorker(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.enqueue((0..<200).map { Echo(text: "\($0)") })
            let claimed = try await withThrowingTaskGroup(of: [JobID].self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let ghost = try await Ghost(queue)
                        var ids: [JobID] = []
                        for _ in 0..<10 { ids += try await ghost.claim(5).map(\.token.job) }
                        return ids
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(claimed.count == 200)
            #expect(Set(claimed).count == 200)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func aWorkerWithoutALeaseClaimsNothing(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Echo(text: ""))
            let ghost = try await Ghost(queue, lease: .zero)
            let answer = try await ghost.exchange([], wanted: 1)
            #expect(answer.isLeaseLost && answer.claimed.isEmpty)
            #expect(try await !ghost.store.beat(ghost.id, lease: .seconds(5)).isAlive)
            #expect(try await queue.info(handle.id)?.attempt == 0)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func jobsOfALostClaimAreHandedBack(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handles = try await queue.enqueue((0..<3).map { Echo(text: "\($0)") })
            let ghost = try await Ghost(queue)
            let known = try await ghost.claim(1)
            _ = try await ghost.claim(2)  // the worker gets no answer to this claim
            let answer = try await ghost.exchange([], wanted: 10, known: known.map(\.token.job))
            #expect(answer.claimed.map(\.token.job) == handles.dropFirst().map(\.id))
            #expect(answer.claimed.allSatisfy { $0.token.attempt == 2 })
        }
    }

    @Test(arguments: StoreKind.allCases)
    func aJobWhoseWorkersKeepDyingIsDiscarded(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let poison = try await queue.enqueue(Echo(text: ""), .exclusive(by: "poison"))
            let dependent = try await queue.enqueue(Echo(text: ""), after: poison.on(.failure))
            for _ in 0..<3 {
                let ghost = try await Ghost(queue)
                #expect(try await ghost.claim().count == 1)
                try await ghost.die()
                #expect(try await queue.store.rescue() == 1)
            }
            let info = try #require(try await queue.info(poison.id))
            #expect(info.state == .discarded)
            #expect(info.error == "3 workers in a row died while they ran it")
            #expect(try await queue.info(dependent.id)?.state == .available)
        }
    }

    /// A worker holds jobs that have not begun. They are not the cause of its death.
    @Test(arguments: StoreKind.allCases)
    func theDeathOfAWorkerCountsForItsFirstJob(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let poison = try await queue.enqueue(Echo(text: "poison"), .priority(.high))
            let others = try await queue.enqueue((0..<5).map { Echo(text: "\($0)") })
            for _ in 0..<3 {
                let ghost = try await Ghost(queue)
                #expect(try await ghost.claim(6).count == 6)
                try await ghost.die()
                #expect(try await queue.store.rescue() == 6)
            }
            #expect(try await queue.info(poison.id)?.state == .discarded)
            for other in others { #expect(try await queue.info(other.id)?.state == .available) }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func aSmallBatchTakesTurnsWithALargeOne(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let ghost = try await Ghost(queue)
            try await queue.enqueue((0..<1_000).map { _ in Echo(text: "large") })
            let begun = try await ghost.claim(100)
            try await queue.store.recordHead(of: "tests", try #require(begun.last).place)
            try await queue.enqueue((0..<50).map { _ in Echo(text: "small") })
            let next = try await ghost.claim(100).map {
                String(decoding: $0.arguments, as: UTF8.self)
            }
            #expect(next.count { $0.contains("small") } >= 49)
        }
    }
}
#endif
