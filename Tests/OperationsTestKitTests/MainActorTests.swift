import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

/// Models on the main actor, whose operations a scheduler runs.
@Suite(.timeLimit(.minutes(5)))
struct MainActorTests {
    @MainActor
    private final class Model {
        private(set) var results: [String] = []
        private(set) var names: [String?] = []
        private let queue: OperationQueue

        init(_ queue: OperationQueue) { self.queue = queue }

        func search(_ text: String) {
            let found = queue.add(
                "search \(text)", .debounced(by: "search", .milliseconds(300))
            ) { ["\(text)1"] }
            queue.add("show", after: found) { @MainActor found in
                self.results += found
                self.names.append(Operation.current?.name)
            }
        }

        func results(for text: String) async throws -> [String] {
            results = try await queue.add("find") { ["\(text)2"] }.value
            return results
        }
    }

    private let rounds = 50

    @MainActor @Test func aModelIsTestedOnTheMainActor() throws {
        for seed in 0..<UInt64(rounds) {
            let scheduler = TestScheduler(seed: seed)
            let model = Model(scheduler.makeQueue())
            model.search("a")
            try scheduler.run()
            #expect(model.results == ["a1"] && model.names == ["show"])
            #expect(scheduler.steps.contains { $0.description == "start 'show'" })
        }
    }

    @Test func aModelIsTestedElsewhere() async throws {
        for seed in 0..<UInt64(rounds) {
            let scheduler = TestScheduler(seed: seed)
            let model = await Model(scheduler.makeQueue())
            await model.search("a")
            try scheduler.run()
            #expect(await model.results == ["a1"])
            #expect(await model.names == ["show"])
        }
    }

    @Test func theOrderOfBodiesOnTheMainActorFollowsFromTheSeed() async throws {
        func order(_ seed: UInt64) async throws -> [Int] {
            let scheduler = TestScheduler(seed: seed)
            let queue = scheduler.makeQueue()
            let order = TestRecorder<Int>()
            for number in 1...6 { queue.add { @MainActor in order.record(number) } }
            try scheduler.run()
            return order.events
        }
        var orders: Set<[Int]> = []
        for seed in 1...10 as ClosedRange<UInt64> {
            let first = try await order(seed)
            #expect(try await order(seed) == first)
            orders.insert(first)
        }
        #expect(orders.count > 1)
    }

    @Test func errorsOfBodiesOnTheMainActorAreFailures() async throws {
        let scheduler = TestScheduler(seed: 1)
        let operation = scheduler.makeQueue().add { @MainActor () throws -> Int in
            throw NoConnection()
        }
        try scheduler.run()
        #expect(throws: NoConnection.self) { try operation.result }
    }

    /// The function goes to the main actor and comes back, in a test on the main actor and
    /// elsewhere.
    @MainActor @Test func anAsyncMethodOfAModelIsTestedOnTheMainActor() async throws {
        for seed in 0..<UInt64(rounds) {
            let scheduler = TestScheduler(seed: seed)
            let model = Model(scheduler.makeQueue())
            let results = try await scheduler.run { try await model.results(for: "a") }
            #expect(results == ["a2"] && model.results == ["a2"])
        }
    }

    @Test func bodiesMayGoToTheMainActor() async throws {
        for seed in 0..<UInt64(rounds) {
            let scheduler = TestScheduler(seed: seed)
            let model = await Model(scheduler.makeQueue())
            let queue = scheduler.makeQueue()
            let operations = (1...3).map { number in
                queue.add { () async throws -> [String] in
                    try await scheduler.clock.sleep(for: .seconds(number))
                    return try await model.results(for: "\(number)")
                }
            }
            let all = try await scheduler.run {
                var all: [[String]] = []
                for operation in operations { all.append(try await operation.value) }
                return all
            }
            #expect(all == [["12"], ["22"], ["32"]])
            #expect(scheduler.clock.now.offset == .seconds(3))
        }
    }
}
