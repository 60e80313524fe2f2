#if DurableJobs
import DurableJobs
import Operations
import Testing

/// Many jobs with unique keys that several processes enqueue at the same time.
@Suite(.timeLimit(.minutes(5)))
struct UniqueBulkContractTests {
    private func newJobs(_ queue: JobQueue, _ keys: some Sequence<Int>) throws -> [NewJob] {
        try keys.map { try queue.newJob(Echo(text: "\($0)"), JobOptions([.unique(by: $0)])) }
    }

    /// Transactions that wait for each other's keys in different orders would deadlock.
    @Test(arguments: StoreKind.allCases, [false, true])
    func keysAreTakenInTheirOrder(_ kind: StoreKind, hasDependencies: Bool) async throws {
        try await withQueue(kind) { queue async throws in
            let before = try await queue.enqueue(Echo(text: ""))
            let joined = try await queue.enqueue(Echo(text: ""), .unique(by: 17))
            var new = try newJobs(queue, 0..<50)
            if hasDependencies {
                new[40].dependencies = [(.new(3), .success), (.stored(before.id), .success)]
                new[17].dependencies = [(.stored(before.id), .success)]
                new[45].dependencies = [(.new(17), .success)]
            }
            let jobs = new
            let (ids, taken) = try await queue.store.database.transaction(.durable) { session in
                var places = BatchPlaces()
                var keys: [String] = []
                let recorder = WatchedSession(session) { rows in
                    for case .text(let text) in rows.joined() where text.hasPrefix("echo ") {
                        keys.append(text)
                    }
                    return true
                }
                let ids = try Enqueueing.enqueue(jobs, in: "tests", at: &places, recorder)
                return (ids, keys)
            }
            #expect(taken == taken.sorted() && taken.count >= 50)
            #expect(ids.count == 50 && Set(ids).count == 50 && ids[17] == joined.id)
            for (index, id) in ids.enumerated() where index != 17 {
                let info = try #require(try await queue.info(id))
                #expect(try info.job(as: Echo.self)?.text == "\(index)")
                let isBlocked = hasDependencies && (index == 40 || index == 45)
                #expect(info.state == (isBlocked ? .blocked : .available))
            }
            // Jobs start in the order of the array all the same.
            let ghost = try await Ghost(queue)
            let claimed = try await ghost.claim(100).map(\.token.job)
            let expected = ids.indices.filter { $0 != 17 && !(hasDependencies && $0 >= 40) }
            let started = claimed.filter { ids.contains($0) && $0 != joined.id }
            #expect(started.prefix(expected.count) == ArraySlice(expected.map { ids[$0] }))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func severalProcessesEnqueueTheSameKeys(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage in
            let queues = try await [
                JobQueue("tests", in: storage), JobQueue("tests", in: storage),
                JobQueue("tests", in: storage),
            ]
            let ids = try await withThrowingTaskGroup(of: [JobID].self) { group in
                for (index, queue) in queues.enumerated() {
                    group.addTask {
                        var keys = Array(0..<300)
                        if index == 1 { keys.reverse() }
                        if index == 2 { keys.shuffle() }
                        let handles = try await queue.enqueue(keys.map { Echo(text: "\($0)") }) {
                            [.unique(by: $0.text)]
                        }
                        return zip(keys, handles).sorted { $0.0 < $1.0 }.map(\.1.id)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(ids.allSatisfy { $0 == ids[0] } && Set(ids[0]).count == 300)
            #expect(try await queues[0].counts() == [.available: 300])
            for queue in queues { await queue.close() }
        }
    }
}
#endif
