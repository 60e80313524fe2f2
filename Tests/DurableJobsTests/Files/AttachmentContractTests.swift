#if DurableJobs
import DurableJobFiles
import DurableJobs
import Operations
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Attaches a number of equal bytes.
struct Attach: Job {
    static let name = "attach"
    var byteCount: Int
    var failures = 0
    var board = Board.newName()

    func perform(in context: JobContext) async throws -> Int {
        try context.attach(Data(repeating: 1, count: 3))
        try context.attach(Data(repeating: 7, count: byteCount))
        if Board.count(board) <= failures { throw PermanentFailure("it was told to fail") }
        return byteCount
    }
}

/// Bytes that are committed with a job, until a program removes them.
@Suite(.timeLimit(.minutes(5)))
struct AttachmentContractTests {
    private func bytes(_ count: Int) -> Data { Data(repeating: 7, count: count) }

    @Test(arguments: StoreKind.allCases)
    func attachmentIsCommittedWithItsJobAndRemoved(_ kind: StoreKind) async throws {
        try await withFileQueue(kind) { queue async throws in
            let plain = try await queue.enqueue(Echo(text: "plain"))
            let handles = try await queue.enqueue([0, 1, 100_000].map { Attach(byteCount: $0) })
            try await withWorker(queue, [Attach.self, Echo.self]) { _ async throws in
                for handle in handles {
                    let count = try await handle.value
                    #expect(try await queue.attachment(of: handle.id) == bytes(count))
                }
                _ = try await plain.value
            }
            #expect(try await queue.attachment(of: plain.id) == nil)
            #expect(try await queue.store.attachmentByteCount(in: queue.name) == 100_001)
            #expect(try await queue.store.attachmentByteCount(in: "another") == 0)
            for _ in 0..<2 { try await queue.removeAttachment(of: handles[2].id) }
            #expect(try await queue.attachment(of: handles[2].id) == nil)
            #expect(try await queue.attachment(of: handles[1].id) == bytes(1))
            // The result stays.
            #expect(try await handles[2].value == 100_000)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func theLargestAttachmentsAreCommitted(_ kind: StoreKind) async throws {
        try await withFileQueue(kind) { queue async throws in
            let largest = JobContext.largestAttachment
            let handles = try await queue.enqueue((0..<6).map { _ in Attach(byteCount: largest) })
            let tooLarge = try await queue.enqueue(Attach(byteCount: largest + 1), .retry(3))
            try await withWorker(queue, [Attach.self]) { _ async throws in
                for handle in handles {
                    #expect(try await handle.value == largest)
                    #expect(try await queue.attachment(of: handle.id)?.count == largest)
                }
                let error = await #expect(throws: JobFailure.self) { try await tooLarge.value }
                #expect(error?.reason.contains("at most 8388608 are stored") == true)
            }
            #expect(try await queue.attachment(of: tooLarge.id) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func failedOrCancelledAttemptLeavesNone(_ kind: StoreKind) async throws {
        try await withFileQueue(kind) { queue async throws in
            let failed = try await queue.enqueue(Attach(byteCount: 5, failures: 1))
            let cancelled = try await queue.enqueue(Attach(byteCount: 5))
            let ghost = try await Ghost(queue, performing: [Attach.name])
            let claimed = try await ghost.claim(2).filter { $0.token.job == cancelled.id }
            #expect(try await queue.cancel(cancelled.id) == .running)
            let answer = try await ghost.exchange(
                claimed.map { EndedAttempt($0.token, ghost.result(attachment: bytes(5))) })
            #expect(answer.verdicts == [.accepted(.cancelled)])
            try await ghost.die()
            #expect(try await queue.store.rescue(in: "tests").count == 1)
            try await withWorker(queue, [Attach.self]) { _ async throws in
                _ = await #expect(throws: JobFailure.self) { try await failed.value }
            }
            #expect(try await queue.store.attachmentByteCount(in: queue.name) == 0)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func fencedAttemptLeavesNoneAndARepeatedCommitAddsNone(_ kind: StoreKind) async throws {
        try await withFileQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Attach(byteCount: 5))
            let slow = try await Ghost(queue, performing: [Attach.name])
            let quick = try await Ghost(queue, performing: [Attach.name])
            let old = try #require(try await slow.claim(1).first)
            try await slow.die()
            #expect(try await queue.store.rescue(in: "tests").count == 1)
            let new = try #require(try await quick.claim(1).first)
            let late = EndedAttempt(old.token, slow.result(attachment: bytes(50)))
            #expect(try await slow.exchange([late]).verdicts == [.fenced])
            #expect(try await queue.attachment(of: handle.id) == nil)

            let right = EndedAttempt(new.token, quick.result(attachment: bytes(5)))
            #expect(try await quick.exchange([right]).verdicts == [.accepted(.completed)])
            #expect(try await slow.exchange([late]).verdicts == [.fenced])
            #expect(try await queue.attachment(of: handle.id) == bytes(5))
            // The answer was lost, and a program has fetched the bytes meanwhile.
            try await queue.removeAttachment(of: handle.id)
            #expect(try await quick.exchange([right]).verdicts == [.accepted(.completed)])
            #expect(try await queue.attachment(of: handle.id) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func jobJoinsACompletedOneUntilItsAttachmentIsRemoved(_ kind: StoreKind) async throws {
        try await withFileQueue(kind) { queue async throws in
            let first = try await queue.enqueue(Attach(byteCount: 5), .unique(by: "a"))
            let other = try await queue.enqueue(Echo(text: "other"), .unique(by: "a"))
            try await withWorker(queue, [Attach.self, Echo.self]) { _ async throws in
                _ = try await first.value
                _ = try await other.value
                #expect(try await queue.enqueue(Echo(text: ""), .unique(by: "a")) != other)
                let again = try await queue.enqueue([Attach(byteCount: 6), Attach(byteCount: 7)]) {
                    $0.byteCount == 6 ? [.unique(by: "a")] : [.unique(by: "b")]
                }
                #expect(again[0] == first && again[1] != first)
                #expect(try await again[0].value == 5)
                // A dependent of the joined job finds that it has completed.
                var graph = JobGraph()
                let joined = graph.add(Attach(byteCount: 8), .unique(by: "a"))
                let next = graph.add(Echo(text: "next"))
                graph.addDependency(of: next, on: joined)
                let handles = try await queue.enqueue(graph)
                #expect(handles[joined] == first)
                #expect(try await handles[next].value == "next")
                try await queue.removeAttachment(of: first.id)
                let new = try await queue.enqueue(Attach(byteCount: 9), .unique(by: "a"))
                #expect(new != first)
                #expect(try await new.value == 9)
            }
        }
    }

    /// A job that has attached five bytes, after its worker has ended.
    private func completedJob(in queue: JobQueue) async throws -> JobHandle<Int> {
        let handle = try await queue.enqueue(Attach(byteCount: 5))
        try await withWorker(queue, [Attach.self]) { _ async throws in
            _ = try await handle.value
        }
        return handle
    }

    @Test(arguments: StoreKind.allCases)
    func attachmentsArePrunedWithTheirJobs(_ kind: StoreKind) async throws {
        try await withFileQueue(kind) { queue async throws in
            let handle = try await completedJob(in: queue)
            try await queue.prune(endedFor: .seconds(3600))
            #expect(try await queue.attachment(of: handle.id) == bytes(5))
            let now = try await queue.store.now()
            while try await queue.store.now() <= now { await Task.yield() }
            #expect(try await queue.prune(endedFor: .zero) == 1)
            #expect(try await queue.attachment(of: handle.id) == nil)
            #expect(try await handle.value == 5)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func jobsArePostponedAtTheLimit(_ kind: StoreKind) async throws {
        try await withFileQueue(kind, attachmentLimit: 5) { queue async throws in
            let first = try await completedJob(in: queue)
            // The next worker asks the store before it begins.
            let second = try await queue.enqueue(Attach(byteCount: 5))
            try await withWorker(queue, [Attach.self]) { _ async throws in
                while try await queue.info(second.id)?.state != .retryable { await Task.yield() }
                let reason = try await queue.explain(second.id)
                #expect(reason.contains("was postponed") && reason.contains("5 bytes or more"))
                try await queue.removeAttachment(of: first.id)
                #expect(try await second.value == 5)
            }
        }
    }
}
#endif
