#if DurableJobs
import DurableJobs
import Operations
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Notes how many jobs were made and have not run.
private struct Counted: Job {
    static let name = "counted"
    var board: String

    func perform(in context: JobContext) async throws -> NoOutput {
        let done = Board.count("\(board) done")
        Board.write("\(Board.value("\(board) made") - done)", to: board)
        return NoOutput()
    }
}

@Suite(.timeLimit(.minutes(5)))
struct EnqueueContractTests {
    @Test(arguments: StoreKind.allCases)
    func jobRunsAndItsResultIsRead(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Echo(text: "hello"))
            #expect(try await queue.info(handle.id)?.state == .available)
            try await withWorker(queue, [Echo.self]) { _ async throws in
                #expect(try await handle.value == "hello")
            }
            #expect(try await queue.info(handle.id)?.state == .completed)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func manyJobsKeepTheirOrderOverSeveralTransactions(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handles = try await queue.enqueue((0..<2_500).map { Echo(text: "\($0)") })
            #expect(handles.map(\.id) == handles.map(\.id).sorted())
            #expect(Set(handles.map(\.id)).count == 2_500)
            try await withWorker(queue, [Echo.self]) { _ async throws in
                for (index, handle) in handles.enumerated() {
                    #expect(try await handle.value == "\(index)")
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func batchIsHeldBackWhileTooManyOfItsJobsAreUnfinished(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let board = Board.newName()
            try await withWorker(queue, [Counted.self]) { _ async throws in
                let batch = try await queue.enqueue(each: 0..<500, capacity: 50, named: "fifty") {
                    _ in
                    Board.count("\(board) made")
                    return Counted(board: board)
                }
                let counts = try await batch.finished()
                #expect(counts.total == 500 && counts.completed == 500 && counts.isEnded)
            }
            // At most 50 are stored and unfinished, and 50 more wait to be stored.
            let most = Board.read(board).compactMap(Int.init).max() ?? 0
            #expect((1...100).contains(most))
            #expect(Board.value("\(board) done") == 500)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func asyncSequenceIsABatch(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let (stream, continuation) = AsyncStream.makeStream(of: String.self)
            for text in ["a", "b", "c"] { continuation.yield(text) }
            continuation.finish()
            let batch = try await queue.enqueue(each: stream) { Echo(text: $0) }
            #expect(try await batch.counts.total == 3)
            try await withWorker(queue, [Echo.self]) { _ async throws in
                #expect(try await batch.finished().completed == 3)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func unfinishedJobWithTheSameKeyIsJoined(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let key = String(repeating: "k", count: 10_000)
            let first = try await queue.enqueue(Echo(text: "first"), .unique(by: key))
            let second = try await queue.enqueue(Echo(text: "second"), .unique(by: key))
            let other = try await queue.enqueue(Echo(text: "other"), .unique(by: "other"))
            let flaky = try await queue.enqueue(Flaky(failures: 0), .unique(by: key))
            #expect(first == second)
            #expect(other != first && flaky.id != first.id)
            try await withWorker(queue, [Echo.self, Flaky.self]) { _ async throws in
                #expect(try await second.value == "first")
                // The key is free after the end.
                let third = try await queue.enqueue(Echo(text: "third"), .unique(by: key))
                #expect(try await third.value == "third")
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func delayedJobStartsWhenItsTimeHasCome(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let start = ContinuousClock.now
            let delayed = try await queue.enqueue(
                Echo(text: "later"), .delay(.milliseconds(300)))
            let past = try await queue.enqueue(
                Echo(text: "past"), .at(Date(timeIntervalSince1970: 0)))
            let negative = try await queue.enqueue(Echo(text: "negative"), .delay(.seconds(-5)))
            #expect(try await queue.info(delayed.id)?.state == .scheduled)
            try await withWorker(queue, [Echo.self]) { _ async throws in
                #expect(try await past.value == "past")
                #expect(try await negative.value == "negative")
                #expect(try await delayed.value == "later")
            }
            #expect(ContinuousClock.now - start >= .milliseconds(300))
        }
    }

    // MARK: Bad input

    @Test(arguments: StoreKind.allCases)
    func largeArgumentsAreRefusedWithTheirField(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let text = String(repeating: "x", count: 1 << 20)
            let error = await #expect(throws: JobError.self) {
                try await queue.enqueue(Note(board: "b", line: text))
            }
            #expect(
                error
                    == .argumentsTooLarge(
                        job: "note", byteCount: text.count + #"{"board":"b","line":""}"#.count,
                        field: "line"))
            #expect(error?.description.contains("'line'") == true)
            #expect(try await queue.counts().isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func argumentsKeepEveryCharacter(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let text = "NUL \0, é, 👩‍👩‍👧, \u{FFFD}, \u{10FFFF}, \r\n, \"'\\"
            let handle = try await queue.enqueue(Echo(text: text), .unique(by: text))
            try await withWorker(queue, [Echo.self]) { _ async throws in
                #expect(try await handle.value == text)
            }
        }
    }

    /// The same key must have the same digest in every process.
    @Test(arguments: StoreKind.allCases)
    func keysInTheOrderOfHashValuesAreRefused(_ kind: StoreKind) async throws {
        struct Key: Encodable, Sendable {
            var tags: Set<String>
            var counts: [UUID: Int] = [:]
            var names: [String: Int] = ["a": 1, "b": 2]
        }
        try await withQueue(kind) { queue async throws in
            let two = [UUID(): 1, UUID(): 2]
            for trait in [
                JobTrait.unique(by: Set(["a", "b"])), .exclusive(by: Set([1, 2])),
                .unique(by: two), .unique(by: [Key(tags: ["a", "b"])]),
                .exclusive(by: Key(tags: [], counts: two)),
            ] {
                let error = await #expect(throws: JobError.self) {
                    try await queue.enqueue(Echo(text: ""), trait)
                }
                #expect(error?.description.contains("use a sorted array") == true)
            }
            let first = try await queue.enqueue(Echo(text: ""), .unique(by: Key(tags: ["a"])))
            let second = try await queue.enqueue(Echo(text: ""), .unique(by: Key(tags: ["a"])))
            #expect(first == second)
            #expect(try await queue.counts() == [.available: 1])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func typeOfJobStatesItsTraitsOnce(_ kind: StoreKind) async throws {
        struct Stubborn: Job {
            static let name = "stubborn"
            static var defaultTraits: [JobTrait] { [.retry(2, backoff: .none), .priority(.high)] }
            var board = Board.newName()

            func perform(in context: JobContext) async throws -> Int {
                let count = Board.count(board)
                if count < 3 { throw Flaky.Failure(description: "\(count)") }
                return count
            }
        }
        try await withQueue(kind) { queue async throws in
            let one = try await queue.enqueue(Stubborn(), .priority(.low))
            let many = try await queue.enqueue([Stubborn()])
            let batch = try await queue.enqueue(each: 0..<1) { _ in Stubborn() }
            var graph = JobGraph()
            let node = graph.add(Stubborn())
            let handles = try await queue.enqueue(graph)
            let once = try await queue.enqueue(Stubborn(), .retry(0))
            #expect(try await queue.info(one.id)?.priority == .low)
            #expect(try await queue.info(many[0].id)?.priority == .high)
            try await withWorker(queue, [Stubborn.self]) { _ async throws in
                for handle in [one, many[0], handles[node]] { #expect(try await handle.value == 3) }
                #expect(try await batch.finished().completed == 1)
                await #expect(throws: JobFailure.self) { try await once.value }
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func traitsWithoutSenseAreRefused(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let noDate = Date(timeIntervalSince1970: .nan)
            await #expect(throws: JobError.self) {
                try await queue.enqueue(Echo(text: ""), .at(noDate))
            }
            await #expect(throws: JobError.self) {
                try await queue.enqueue(Echo(text: ""), .deadline(noDate))
            }
            await #expect(throws: JobError.self) {
                try await queue.enqueue(Echo(text: ""), .retry(-1))
            }
            #expect(throws: JobError.self) { try queue.queue("") }
            #expect(throws: JobError.self) { try queue.queue("a\0b") }
            #expect(throws: JobError.self) { try queue.queue(String(repeating: "q", count: 201)) }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func queuesOfOneStoreAreIndependent(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let other = try queue.queue("other")
            let handle = try await other.enqueue(Echo(text: "there"))
            let here = try await queue.enqueue(Echo(text: "here"))
            try await withWorker(queue, [Echo.self]) { _ async throws in
                #expect(try await here.value == "here")
            }
            #expect(try await other.info(handle.id)?.state == .available)
            #expect(try await other.counts() == [.available: 1])
        }
    }

    // MARK: Changes of joined jobs

    private func echo(_ queue: JobQueue, _ id: JobID) async throws -> String? {
        try await queue.info(id)?.job(as: Echo.self)?.text
    }

    @Test(arguments: StoreKind.allCases)
    func joinedJobGetsTheLastArguments(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            func enqueue(_ text: String) async throws -> JobID {
                try await queue.enqueue(
                    Echo(text: text), .unique(by: "key"), .joining(.replacingArguments)
                ).id
            }
            let id = try await enqueue("a")
            #expect(try await enqueue("b") == id)
            #expect(try await echo(queue, id) == "b")
            // Without the trait, the job keeps its own.
            #expect(try await queue.enqueue(Echo(text: "c"), .unique(by: "key")).id == id)
            #expect(try await echo(queue, id) == "b")
            // A job that runs is joined as it is, and so is one that has ended.
            let ghost = try await Ghost(queue)
            let claimed = try #require(try await ghost.claim().first)
            #expect(try await enqueue("d") == id)
            #expect(try await echo(queue, id) == "b")
            _ = try await ghost.exchange([EndedAttempt(claimed.token, ghost.result(""))])
            let ended = try await queue.enqueue(
                Echo(text: "e"), .unique(by: "key", for: .seconds(60)),
                .joining(.replacingArguments))
            #expect(ended.id == id)
            #expect(try await echo(queue, id) == "b")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func debouncedJobRunsOnceWithTheLastArguments(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            func enqueue(_ text: String, _ traits: JobTrait...) async throws -> JobID {
                try await queue.enqueue(
                    Echo(text: text),
                    traits + [.unique(by: "key"), .joining([.replacingArguments, .postponing])],
                    after: []
                ).id
            }
            func runAt(_ id: JobID) async throws -> Int64 {
                try await queue.store.job(id)?.runAt ?? 0
            }
            let id = try await enqueue("a", .delay(.seconds(60)))
            let first = try await runAt(id)
            #expect(try await enqueue("b", .delay(.seconds(3600))) == id)
            #expect(try await runAt(id) > first + 1_000_000)
            #expect(try await queue.info(id)?.state == .scheduled)
            #expect(try await enqueue("c") == id)
            #expect(try await queue.info(id)?.state == .available)
            #expect(try await enqueue("d", .delay(.seconds(3600))) == id)
            #expect(try await queue.info(id)?.state == .scheduled)
            #expect(try await Ghost(queue).claim().isEmpty)
            #expect(try await echo(queue, id) == "d")
            #expect(try await queue.counts() == [.scheduled: 1])
        }
    }

    /// The last of several jobs with one key in one call.
    @Test(arguments: StoreKind.allCases)
    func lastOfAnArrayReplacesTheOthers(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let blocker = try await queue.enqueue(Flaky(failures: 0))
            let handles = try await queue.enqueue(
                (0..<3).map { Echo(text: "\($0)") }, .unique(by: "key"),
                .joining([.replacingArguments, .postponing]), after: blocker)
            #expect(Set(handles.map(\.id)).count == 1)
            #expect(try await echo(queue, handles[0].id) == "2")
            #expect(try await queue.info(handles[0].id)?.state == .blocked)
        }
    }

    @Test func joiningWithoutAKeyIsRefused() async throws {
        try await withQueue(.file) { queue async throws in
            let error = await #expect(throws: JobError.self) {
                try await queue.enqueue(Echo(text: ""), .joining(.postponing))
            }
            #expect(error?.description.contains("write unique(by:)") == true)
        }
    }
}
#endif
