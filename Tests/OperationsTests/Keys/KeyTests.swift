import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct KeyTests {
    @Test func unfinishedOperationIsJoined() async throws {
        let queue = suspendedQueue()
        let runs = Tally()
        func load(_ url: String) -> TypedOperation<Int> {
            queue.add("load \(url)", .deduplicated(by: url)) { runs.increment() }
        }
        let first = load("a")
        let (again, other) = (load("a"), load("b"))
        #expect(first === again && first !== other)
        #expect(queue.operationCount == 2)
        queue.isSuspended = false
        await queue.drain()
        #expect(runs.value == 2)
        // The first operation has finished, so the next one is new.
        let later = load("a")
        #expect(later !== first)
        #expect(try await later.value == 3)
        #expect(queue.keys.joined.count == 0)
    }

    /// While an operation waits for capacity, it is in no queue, and its task may be cancelled.
    @Test func operationWaitingForCapacityIsNotJoined() async throws {
        let queue = suspendedQueue()
        queue.addOperation {}
        let waiting = Task {
            _ = try await queue.add("a", .deduplicated(by: 1), capacity: 1) { 1 }
        }
        #expect(await comesTrue { queue.snapshot({ $0.limits?.capacity.waiterCount ?? 0 }) == 1 })
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        let later = queue.add("b", .deduplicated(by: 1)) { 2 }
        let joined = try await queue.add("c", .deduplicated(by: 1), capacity: 1) { 3 }
        #expect(joined === later && later.name == "b")
        queue.isSuspended = false
        #expect(try await later.value == 2)
        await queue.drain()
        #expect(queue.keys.joined.count == 0)
    }

    /// A queue must not retain an operation that cannot be found by its key.
    @Test(arguments: [
        OperationTrait.deduplicated(by: Double.nan), .coalesced(by: Double.nan),
        .exclusive(by: [Float.nan]), .limited(to: 2, by: Double.nan),
    ]) func keyUnequalToItselfIsRemoved(trait: OperationTrait) async {
        let queue = OperationQueue()
        weak var ended: Operation?
        do { ended = queue.add(trait) {} }
        await queue.drain()
        #expect(await comesTrue { ended == nil })
        let keys = queue.keys
        #expect(keys.joined.count + keys.latest.count == 0)
        #expect(keys.exclusive.count + keys.limited.count == 0)
    }

    @Test func keyUnequalToItselfMatchesNoOther() async {
        let queue = suspendedQueue()
        let first = queue.add(.deduplicated(by: Double.nan)) {}
        let second = queue.add(.deduplicated(by: Double.nan)) {}
        #expect(first !== second)
        #expect(queue.keys.joined.count == 2)
        queue.isSuspended = false
        await queue.drain()
        #expect(queue.keys.joined.count == 0)
    }

    @Test func duplicateReplacesNothing() async {
        let queue = suspendedQueue()
        let pair = (0..<2).map { index in
            let operation = TypedOperation { index }
            operation.apply(.deduplicated(by: "url"), .coalesced(by: "row"))
            return operation
        }
        for operation in pair { queue.addOperation(operation) }
        queue.isSuspended = false
        await queue.drain()
        #expect(pair.map(\.isCancelled) == [false, true])
        #expect((try? pair[0].result) == 0)
    }

    @Test func manyThreadsJoinOneOperation() async throws {
        let queue = OperationQueue()
        let (gate, runs) = (AsyncGate(), Tally())
        let operations = await withTaskGroup(of: TypedOperation<Int>.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    queue.add(.deduplicated(by: 1)) {
                        try await gate.wait()
                        return runs.increment()
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(operations).count == 1)
        gate.open()
        #expect(try await operations[0].value == 1)
    }

    @Test func cancelledOperationIsNotJoined() async throws {
        let queue = OperationQueue()
        let (started, proceed) = (Signal(), Signal())
        let first = queue.add(.deduplicated(by: "a")) {
            started.send()
            proceed.wait()
            return 1
        }
        #expect(await started.arrives())
        first.cancel()
        let second = queue.add(.deduplicated(by: "a")) { 2 }
        let third = queue.add(.deduplicated(by: "a")) { 3 }
        #expect(first !== second)
        #expect(try await second.value == 2)
        proceed.send()
        await queue.drain()
        #expect(third === second || third.isFinished)
        #expect(queue.keys.joined.count == 0)
    }

    @Test func differentResultTypesNeedDifferentKeys() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = OperationQueue()
            queue.isSuspended = true
            queue.name = "feeds"
            queue.add("load", .deduplicated(by: "a")) { 1 }
            queue.add(.deduplicated(by: "a")) { "x" }
        }
        expect(
            result, says: "'load' with the key 'a' is under way in queue 'feeds'",
            "use different keys")
    }

    @Test func duplicateThatCannotJoinIsCancelled() async {
        let queue = suspendedQueue()
        let first = queue.add("load", .deduplicated(by: "a")) { 1 }
        let second = BlockOperation {}
        second.apply(.deduplicated(by: "a"))
        queue.addOperation(second)
        queue.isSuspended = false
        await queue.drain()
        #expect(!first.isCancelled)
        #expect(second.cancellationReason?.description == "'load' does the same already")
        #expect(queue.keys.joined.count == 0)
    }

    @Test func latestCoalescedOperationWins() async throws {
        let queue = OperationQueue()
        let started = Signal()
        let last = AsyncGate()
        let searches = ["a", "ab", "abc"].map { text in
            let gate = text == "abc" ? last : AsyncGate()
            let search = queue.add(.name(text), .coalesced(by: "search")) {
                started.send()
                try await gate.wait()
                return text
            }
            #expect(started.wait())
            return search
        }
        last.open()
        #expect(try await searches[2].value == "abc")
        await queue.drain()
        #expect(searches[0].cancellationReason?.description == "'ab' took its place")
        #expect(searches[1].cancellationReason?.description == "'abc' took its place")
        #expect(queue.keys.latest.count == 0)
    }

    @Test func exclusiveOperationsRunOneByOneInOrder() async {
        let queue = suspendedQueue()
        let order = [TestRecorder<Int>(), TestRecorder<Int>()]
        let inside = [Occupancy(), Occupancy()]
        for index in 0..<400 {
            queue.add(.exclusive(by: index % 2)) {
                inside[index % 2].enter()
                order[index % 2].record(index)
                inside[index % 2].leave()
            }
        }
        queue.isSuspended = false
        await queue.drain()
        for key in 0...1 {
            #expect(inside[key].highest == 1)
            #expect(order[key].events == (0..<200).map { 2 * $0 + key })
        }
        #expect(queue.keys.exclusive.count == 0)
    }

    @Test func operationWaitingForKeyTakesNoSlot() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 2
        let (started, proceed) = (Signal(), Signal())
        queue.add("first", .exclusive(by: "account")) {
            started.send()
            proceed.wait()
        }
        #expect(await started.arrives())
        let second = queue.add("second", .exclusive(by: "account")) {}
        await queue.add("free") {}.waitUntilFinished()
        #expect(
            second.explain().description
                == "'second' waits for its turn: 1 at a time with the key 'account'.")
        #expect(!second.isReady && !second.isFinished)
        proceed.send()
        await queue.drain()
        #expect(second.isFinished)
    }

    @Test func limitedOperationsRunUpToLimit() async {
        let queue = OperationQueue()
        let inside = Occupancy()
        let both = Tally()
        for _ in 0..<60 {
            queue.add(.limited(to: 2, by: "host")) { () async in
                inside.enter()
                if inside.now == 2 { both.increment() }
                for _ in 0..<20 { await Task.yield() }
                inside.leave()
            }
        }
        await queue.drain()
        #expect(inside.highest == 2 && both.value > 0)
        #expect(queue.keys.limited.count == 0)
    }

    @Test func lastLimitApplies() async {
        let queue = suspendedQueue()
        let inside = Occupancy()
        for limit in [5, 5, 5, 5, 1] {
            queue.add(.limited(to: limit, by: "host")) { () async in
                inside.enter()
                for _ in 0..<20 { await Task.yield() }
                inside.leave()
            }
        }
        queue.isSuspended = false
        await queue.drain()
        #expect(inside.highest == 1)
    }

    @Test func keysWithEqualHashesAreDistinguished() {
        struct Key: Hashable {
            let name: String
            func hash(into hasher: inout Hasher) {}
        }
        let table = KeyTable<Int>()
        let keys = ["a", "b", "c"].map { OperationKey(Key(name: $0)) }
        for (index, key) in keys.enumerated() { table.change(key) { $0 = index } }
        #expect(keys.map { key in table.change(key) { $0 } } == [0, 1, 2])
        table.change(keys[1]) { $0 = nil }
        #expect(keys.map { key in table.change(key) { $0 } } == [0, nil, 2])
        for key in keys { table.change(key) { $0 = nil } }
        #expect(table.count == 0)
    }

    /// The `==` of a key may run any code, and may use the queue.
    @Test func keysAreComparedWithoutLocks() async {
        struct Key: Hashable {
            let queue: OperationQueue
            static func == (a: Key, b: Key) -> Bool {
                a.queue.add(.deduplicated(by: "inner")) {}
                return a.queue === b.queue
            }
            func hash(into hasher: inout Hasher) {}
        }
        let queue = OperationQueue()
        for _ in 0..<3 { queue.add(.deduplicated(by: Key(queue: queue))) {} }
        await queue.drain()
        #expect(queue.keys.joined.count == 0)
    }
}
