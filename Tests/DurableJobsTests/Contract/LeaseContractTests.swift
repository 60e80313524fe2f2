#if DurableJobs
import DurableJobs
import Operations
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The transactions of the protocol, without workers: every order that matters can be written down.
@Suite(.timeLimit(.minutes(5)))
struct LeaseContractTests {
    @Test(arguments: StoreKind.allCases)
    func fencedWorkerCannotCommit(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Echo(text: ""))
            let (slow, quick) = (try await Ghost(queue), try await Ghost(queue))
            let old = try #require(try await slow.claim().first)
            try await slow.die()
            #expect(try await queue.store.rescue(in: "tests").count == 1)
            let new = try #require(try await quick.claim().first)
            #expect(new.attempt == old.attempt + 1)

            // The slow worker cannot complete, fail or hand back the attempt of the quick one.
            for verdict in [
                slow.result("slow"), .retry(error: "", after: .zero), .discarded(error: ""),
                .cancelled(reason: ""), .handedBack,
            ] {
                let answer = try await slow.exchange([EndedAttempt(old.token, verdict)])
                #expect(answer.verdicts == [.fenced])
                #expect(answer.isLeaseLost)
            }
            let answer = try await quick.exchange([EndedAttempt(new.token, quick.result("quick"))])
            #expect(answer.verdicts == [.accepted(.completed)])
            #expect(try await handle.value == "quick")
            let late = try await slow.exchange([EndedAttempt(old.token, slow.result("slow"))])
            #expect(late.verdicts == [.fenced])
            #expect(try await handle.value == "quick")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func commitMayBeRepeated(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let first = try await queue.enqueue(Echo(text: ""))
            let dependent = try await queue.enqueue(Echo(text: ""), after: first)
            let second = try await queue.enqueue(Echo(text: ""), .retry(1, backoff: .none))
            let ghost = try await Ghost(queue)
            let claimed = try await ghost.claim(2)
            let ended = [
                EndedAttempt(claimed[0].token, ghost.result("once")),
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
    func workerWithoutALeaseClaimsNothing(_ kind: StoreKind) async throws {
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
            let answer = try await ghost.exchange([], wanted: 10, known: known.map(\.token))
            #expect(answer.claimed.map(\.token.job) == handles.dropFirst().map(\.id))
            #expect(answer.claimed.allSatisfy { $0.attempt == 2 })
        }
    }

    /// The store gives a job to the worker that holds an earlier attempt with the same number.
    @Test(arguments: StoreKind.allCases)
    func attemptWhoseClaimIsLostIsFenced(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Echo(text: ""))
            let ghost = try await Ghost(queue)
            let old = try #require(try await ghost.claim().first)
            try await queue.loseClaim(of: handle.id)
            let new = try #require(try await ghost.claim().first)
            #expect(new.attempt == old.attempt)

            let answer = try await ghost.exchange([EndedAttempt(old.token, ghost.result("old"))])
            #expect(answer.verdicts == [.fenced])
            #expect(try await queue.info(handle.id)?.state == .running)
            for _ in 0..<2 {
                let answer = try await ghost.exchange([
                    EndedAttempt(new.token, ghost.result("new"))
                ])
                #expect(answer.verdicts == [.accepted(.completed)])
                // Not taken for a repetition of the report before.
                let late = try await ghost.exchange([EndedAttempt(old.token, ghost.result("old"))])
                #expect(late.verdicts == [.fenced])
            }
            #expect(try await handle.value == "new")
        }
    }

    /// The worker knows an earlier attempt of the job that it has claimed without an answer.
    @Test(arguments: StoreKind.allCases)
    func jobOfALostClaimIsHandedBackBesideAnOldAttempt(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Echo(text: ""))
            let ghost = try await Ghost(queue)
            let old = try await ghost.claim()
            try await queue.loseClaim(of: handle.id)
            _ = try await ghost.claim()  // the worker gets no answer to this claim
            let answer = try await ghost.exchange([], wanted: 1, known: old.map(\.token))
            #expect(answer.claimed.map(\.token.job) == [handle.id])
        }
    }

    /// An outage of the database, or a pause of the machine, is no death.
    @Test(arguments: StoreKind.allCases)
    func aWorkerThatComesBackHasNotDied(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Echo(text: ""), .exclusive(by: "key"))
            let deaths: @Sendable () async throws -> Int = {
                try await queue.rowCount("durable_job WHERE deaths > 0")
            }
            for round in 0..<6 {
                let ghost = try await Ghost(queue)
                let claimed = try await ghost.claim()
                #expect(claimed.map(\.token.job) == [handle.id])
                try await ghost.loseLease()
                if round.isMultiple(of: 2) {
                    // Another worker takes the job first.
                    #expect(try await queue.store.rescue(in: "tests").count == 1)
                    #expect(try await deaths() == 1)
                }
                // In the last round, the worker does not know of its claim.
                try await ghost.comeBack(from: round < 5 ? claimed : [])
                #expect(try await deaths() == 0)
                #expect(try await queue.info(handle.id)?.state == .available)
            }
        }
    }

    /// Others may have claimed the job again. It stays theirs.
    @Test(arguments: StoreKind.allCases)
    func aWorkerThatComesBackLeavesOthersTheirJobs(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.enqueue(Echo(text: ""), .exclusive(by: "key"))
            let (ghost, other) = (try await Ghost(queue), try await Ghost(queue))
            let claimed = try await ghost.claim()
            try await ghost.loseLease()
            #expect(try await queue.store.rescue(in: "tests").count == 1)
            let again = try await other.claim()
            #expect(again.count == 1)
            try await ghost.comeBack(from: claimed)
            #expect(try await queue.rowCount("durable_job_lock") == 1)
            #expect(try await queue.rowCount("durable_job WHERE deaths > 0") == 0)
            let answer = try await other.exchange(
                again.map { EndedAttempt($0.token, other.result("done")) })
            #expect(answer.verdicts == [.accepted(.completed)])
        }
    }

    /// The process need not know what it held: the report of the attempt may have been fenced.
    @Test(arguments: StoreKind.allCases)
    func theDeathOfAWorkerThatComesBackCountsForNoJob(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.enqueue(Echo(text: ""))
            let (ghost, other) = (try await Ghost(queue), try await Ghost(queue))
            let claimed = try await ghost.claim()
            try await ghost.loseLease()
            #expect(try await queue.store.rescue(in: "tests").count == 1)
            #expect(try await other.claim().count == 1)
            let answer = try await ghost.exchange(
                claimed.map { EndedAttempt($0.token, ghost.result("late")) })
            #expect(answer.verdicts == [.fenced] && answer.isLeaseLost)
            try await ghost.comeBack(from: [])
            try await other.die()
            #expect(try await queue.store.rescue(in: "tests").count == 1)
            #expect(try await queue.rowCount("durable_job WHERE deaths = 1") == 1)
        }
    }

    /// A worker may be stopped after it has lost its lease, and before it has a new one.
    @Test(arguments: StoreKind.allCases)
    func aWorkerThatEndsWithoutALeaseHasNotDied(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Echo(text: ""), .exclusive(by: "key"))
            for isTaken in [false, true] {
                let ghost = try await Ghost(queue)
                let claimed = try await ghost.claim()
                #expect(claimed.map(\.token.job) == [handle.id])
                try await ghost.loseLease()
                if isTaken {
                    #expect(try await queue.store.rescue(in: "tests").count == 1)
                    #expect(try await queue.rowCount("durable_job WHERE deaths = 1") == 1)
                }
                var earlier = EarlierIncarnations()
                earlier.add(ghost.id, claimed.map(\.token.job))
                try await queue.store.unregister("a new one", after: earlier)
                #expect(try await queue.rowCount("durable_job WHERE deaths > 0") == 0)
                #expect(try await queue.info(handle.id)?.state == .available)
            }
        }
    }

    /// A worker that is only missing may come back.
    @Test(arguments: StoreKind.allCases)
    func jobIsNotDiscardedWhileItsWorkerIsMissing(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Echo(text: ""), .exclusive(by: "key"))
            for _ in 0..<2 {
                let ghost = try await Ghost(queue)
                #expect(try await ghost.claim().count == 1)
                try await ghost.die()
                let rescue = try await queue.store.rescue(in: "tests", isDead: { _ in false })
                #expect(rescue.count == 1 && rescue.missing.isEmpty)
            }
            let third = try await Ghost(queue)
            let claimed = try await third.claim()
            try await third.loseLease()
            for _ in 0..<2 {
                let rescue = try await queue.store.rescue(in: "tests", isDead: { _ in false })
                #expect(rescue.count == 0 && rescue.missing == [third.id])
                #expect(try await queue.info(handle.id)?.state == .running)
                #expect(try await queue.rowCount("durable_job_lock") == 1)
            }
            try await third.comeBack(from: claimed)
            #expect(try await queue.info(handle.id)?.state == .available)
            let last = try await Ghost(queue)
            #expect(try await last.claim().count == 1)
            try await last.die()
            #expect(try await queue.store.rescue(in: "tests", isDead: { $0 == last.id }).count == 1)
            let info = try #require(try await queue.info(handle.id))
            #expect(info.state == .discarded)
            #expect(info.error == "3 workers in a row died while they ran it")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func jobWhoseWorkersKeepDyingIsDiscarded(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let poison = try await queue.enqueue(Echo(text: ""), .exclusive(by: "poison"))
            let dependent = try await queue.enqueue(Echo(text: ""), after: poison.on(.failure))
            for _ in 0..<3 {
                let ghost = try await Ghost(queue)
                #expect(try await ghost.claim().count == 1)
                try await ghost.die()
                #expect(try await queue.store.rescue(in: "tests").count == 1)
            }
            let info = try #require(try await queue.info(poison.id))
            #expect(info.state == .discarded)
            #expect(info.error == "3 workers in a row died while they ran it")
            #expect(try await queue.info(dependent.id)?.state == .available)
        }
    }

    /// Nobody knows which of several jobs has killed their worker, until each has run alone.
    @Test(arguments: StoreKind.allCases)
    func onlyAJobThatAlsoDiesAloneIsDiscarded(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let innocents = try await queue.enqueue((0..<5).map { Echo(text: "\($0)") })
            let killer = try await queue.enqueue(Echo(text: "killer"), .priority(.low))
            for _ in 0..<4 {
                let ghost = try await Ghost(queue)
                #expect(try await ghost.claim(6).count == 6)
                try await ghost.die()
                #expect(try await queue.store.rescue(in: "tests").count == 6)
            }
            #expect(try await queue.counts() == [.available: 6])
            let fresh = try await queue.enqueue(Echo(text: "fresh"))
            for number in 0..<6 {
                let ghost = try await Ghost(queue)
                // A worker that holds another job claims no suspect.
                let other = try await ghost.exchange([], wanted: 6, suspectDeaths: 2)
                #expect(other.claimed.map(\.token.job) == (number == 0 ? [fresh.id] : []))
                #expect(other.hasSuspects && !other.isSuspect)
                let ends = other.claimed.map { EndedAttempt($0.token, ghost.result("")) }
                let answer = try await ghost.exchange(
                    ends, wanted: 6, suspectDeaths: 2, mayClaimSuspect: true)
                #expect(answer.isSuspect && answer.claimed.count == 1)
                let suspect = try #require(answer.claimed.first).token
                if suspect.job == killer.id {
                    try await ghost.die()
                    #expect(try await queue.store.rescue(in: "tests").count == 1)
                } else {
                    _ = try await ghost.exchange([EndedAttempt(suspect, ghost.result(""))])
                    try await ghost.die()
                }
            }
            for job in innocents { #expect(try await queue.info(job.id)?.state == .completed) }
            #expect(try await queue.info(killer.id)?.state == .discarded)
        }
    }

    /// The others go on with other jobs.
    @Test(arguments: StoreKind.allCases)
    func oneWorkerMakesRoomForASuspect(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.enqueue(Echo(text: ""))
            try await queue.change("UPDATE durable_job SET deaths = 2")
            var ghosts = [
                try await Ghost(queue, performing: ["flaky"]), try await Ghost(queue),
                try await Ghost(queue), try await Ghost(queue),
            ]
            while ghosts.count > 1 {
                var chosen: [String] = []
                for ghost in ghosts {
                    let answer = try await ghost.exchange([], wanted: 1, suspectDeaths: 2)
                    #expect(answer.claimed.isEmpty)
                    if answer.hasSuspects { chosen.append(ghost.id) }
                }
                #expect(chosen.count == 1 && chosen.first != ghosts[0].id)
                // When it has died, another one makes room.
                for ghost in ghosts where chosen.contains(ghost.id) { try await ghost.die() }
                ghosts.removeAll { chosen.contains($0.id) }
            }
        }
    }

    /// All workers of a process die with it, and any of their jobs may be the cause.
    @Test(arguments: StoreKind.allCases)
    func jobIsNotAloneBesideAnotherWorkerOfItsProcess(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let other = try queue.queue("other")
            let job = try await queue.enqueue(Echo(text: ""))
            try await other.enqueue(Echo(text: ""))
            for death in 1...9 {
                let ghost = try await Ghost(queue, process: 7)
                let beside = try await Ghost(other, process: 7)
                #expect(try await ghost.claim().count == 1)
                #expect(try await beside.claim().count == 1)
                try await ghost.loseLease()
                try await beside.loseLease()
                #expect(try await queue.store.rescue(in: "tests").count == 1)
                #expect(
                    try await queue.info(job.id)?.state == (death < 9 ? .available : .discarded))
                try await other.change("UPDATE durable_job SET state = 2 WHERE queue = 'other'")
            }
        }
    }

    /// Containers may have one host name, and the same process number in each.
    @Test(arguments: StoreKind.allCases)
    func jobIsAloneBesideAProcessOfAnotherContainer(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let other = try queue.queue("other")
            let job = try await queue.enqueue(Echo(text: ""))
            try await other.enqueue(Echo(text: ""))
            let beside = try await Ghost(other, container: "b")
            #expect(try await beside.claim().count == 1)
            for death in 1...3 {
                let ghost = try await Ghost(queue, container: "a")
                #expect(try await ghost.claim().count == 1)
                try await ghost.loseLease()
                #expect(try await queue.store.rescue(in: "tests").count == 1)
                #expect(
                    try await queue.info(job.id)?.state == (death < 3 ? .available : .discarded))
            }
        }
    }

    /// A machine that is about to go asks its processes to stop, and kills those that do not end.
    @Test(arguments: StoreKind.allCases)
    func theDeathOfAWorkerThatStopsCountsForNoJob(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let job = try await queue.enqueue(Echo(text: ""))
            for _ in 0..<4 {
                let ghost = try await Ghost(queue)
                #expect(try await ghost.claim().count == 1)
                let beat = try await ghost.store.beat(
                    ghost.id, lease: .seconds(60), isStopping: true)
                #expect(beat.isAlive)
                try await ghost.loseLease()
                #expect(try await queue.store.rescue(in: "tests", deathLimit: 1).count == 1)
            }
            #expect(try await queue.info(job.id)?.state == .available)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func smallBatchTakesTurnsWithALargeOne(_ kind: StoreKind) async throws {
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
