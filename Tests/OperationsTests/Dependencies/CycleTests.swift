import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

/// The reports of cycles, which come some time after a cycle was closed, and the cycles that are
/// refused. The whole process has one handler of reports, so the tests of reports run in processes
/// of their own.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct CycleTests {
    /// Records each reported cycle as the names of its operations.
    private static func recordCycles() -> TestRecorder<[String]> {
        endSoon(EXIT_FAILURE)
        let cycles = TestRecorder<[String]>()
        OperationsDiagnostics.handler = { finding in
            if case .dependencyCycle(let names) = finding { cycles.record(names) }
        }
        return cycles
    }

    /// Returns two operations that wait for each other.
    private static func pair(_ first: String, _ second: String) -> [Operation] {
        let (a, b) = (named(first), named(second))
        a.addDependency(b)
        b.addDependency(a)
        return [a, b]
    }

    /// Closes a cycle in a queue, and waits for its report: after that, the watch has looked at
    /// everything that was there before.
    private static func waitForLook(_ cycles: TestRecorder<[String]>, _ name: String) async {
        let queue = OperationQueue()
        let pair = pair(name, "\(name) too")
        await queue.addOperations(pair, waitUntilFinished: false)
        #expect(await comesTrue { cycles.events.contains { $0.contains("'\(name)'") } })
        pair[0].cancel()
        await queue.drain()
    }

    // MARK: When a cycle is reported

    @Test func cycleIsReportedOnceItsMembersAreInQueue() async {
        await #expect(processExitsWith: .success) {
            let cycles = Self.recordCycles()
            let inNoQueue = Self.pair("alone", "together")
            let pair = Self.pair("a", "b")
            await Self.waitForLook(cycles, "first")
            #expect(cycles.events.count == 1)
            let queue = OperationQueue()
            await queue.addOperations(pair, waitUntilFinished: false)
            #expect(await comesTrue { cycles.events.count == 2 })
            #expect(cycles.events.last == ["'a'", "'b'", "'a'"])
            // A cycle that stands is not reported again.
            await Self.waitForLook(cycles, "second")
            #expect(cycles.events.count == 3)
            pair[1].removeDependency(pair[0])
            await queue.drain()
            withExtendedLifetime(inNoQueue) {}
        }
    }

    /// The first operation of a queue is in no cycle, but waits for one.
    @Test func cycleIsReportedIfOneMemberIsInQueue() async {
        await #expect(processExitsWith: .success) {
            let cycles = Self.recordCycles()
            let queue = OperationQueue()
            let (outside, inside, dependent) = (named("outside"), named("inside"), named("first"))
            dependent.addDependency(inside)
            inside.addDependency(outside)
            await queue.addOperations([dependent, inside], waitUntilFinished: false)
            await Self.waitForLook(cycles, "look")
            #expect(cycles.events.count == 1)
            outside.addDependency(inside)
            #expect(await comesTrue { cycles.events.count == 2 })
            #expect(Set(cycles.events[1]) == ["'inside'", "'outside'"])
            outside.cancel()
            outside.start()
            await queue.drain()
        }
    }

    /// An operation that needs one of several is stuck only if all of them wait for it.
    @Test func alternativeBreaksCycle() async {
        await #expect(processExitsWith: .success) {
            let cycles = Self.recordCycles()
            let queue = OperationQueue()
            let gate = Operation()
            let a = TypedOperation { 1 }
            let b = TypedOperation { () throws -> Int in throw NoConnection() }
            (a.name, b.name) = ("a", "b")
            b.addDependency(gate)
            let first = queue.add("first", firstOf: a, b)
            a.addDependency(first)
            await queue.addOperations([a, b], waitUntilFinished: false)
            await Self.waitForLook(cycles, "look")
            #expect(cycles.events.count == 1)
            // Only the operation that waits for the result is left.
            gate.start()
            #expect(await comesTrue { cycles.events.count == 2 })
            #expect(Set(cycles.events[1]) == ["'a'", "'first'"])
            a.cancel()
            await queue.drain()
        }
    }

    @Test func cycleThroughAllAlternativesIsReported() async {
        await #expect(processExitsWith: .success) {
            let cycles = Self.recordCycles()
            let queue = OperationQueue()
            let (a, b) = (TypedOperation { 1 }, TypedOperation { 2 })
            let first = queue.add("first", firstOf: a, b)
            a.addDependency(first)
            b.addDependency(first)
            await queue.addOperations([a, b], waitUntilFinished: false)
            #expect(await comesTrue { cycles.events.count == 1 })
            #expect(cycles.events[0].contains("'first'"))
            first.cancel()
            await queue.drain()
        }
    }

    @Test func cycleAfterBrokenCycleIsReported() async {
        await #expect(processExitsWith: .success) {
            let cycles = Self.recordCycles()
            let queue = OperationQueue()
            let (a, b, c) = (named("a"), named("b"), named("c"))
            a.addDependency(b)
            b.addDependency(a)
            b.addDependency(c)
            c.addDependency(a)
            await queue.addOperations([a, b, c], waitUntilFinished: false)
            #expect(await comesTrue { cycles.events.count == 1 })
            if cycles.events[0].count == 3 { b.removeDependency(a) } else { b.removeDependency(c) }
            #expect(await comesTrue { cycles.events.count == 2 })
            #expect(cycles.events[0] != cycles.events[1])
            a.cancel()
            await queue.drain()
        }
    }

    /// Work goes on in the same queue and in another one.
    @Test func cycleBesideBusyQueueIsReported() async {
        await #expect(processExitsWith: .success) {
            let cycles = Self.recordCycles()
            let (queue, other) = (OperationQueue(), OperationQueue())
            @Sendable func goOn(_ queue: OperationQueue) {
                if cycles.events.isEmpty { queue.addOperation { goOn(queue) } }
            }
            for queue in [queue, other] { for _ in 0..<4 { goOn(queue) } }
            let pair = Self.pair("a", "b")
            await queue.addOperations(pair, waitUntilFinished: false)
            #expect(await comesTrue { cycles.events == [["'a'", "'b'", "'a'"]] })
            pair[0].cancel()
            await queue.drain()
            await other.drain()
        }
    }

    /// More operations wait before the cycle than one look visits.
    @Test func cycleBehindManyOperationsIsReported() async {
        await #expect(processExitsWith: .success) {
            let cycles = Self.recordCycles()
            let queue = suspendedQueue()
            let gate = named("gate")
            let waiting = (0..<20_000).map { _ in
                let operation = Operation()
                operation.addDependency(gate)
                return operation
            }
            let pair = Self.pair("a", "b")
            await queue.addOperations([gate] + waiting + pair, waitUntilFinished: false)
            #expect(await comesTrue { cycles.events == [["'a'", "'b'", "'a'"]] })
            queue.isSuspended = false
            pair[0].cancel()
            await queue.drain()
        }
    }

    @Test func longCycleIsReported() async {
        await #expect(processExitsWith: .success) {
            let cycles = Self.recordCycles()
            let queue = OperationQueue()
            let operations = (0..<20_000).map { _ in Operation() }
            for (next, previous) in zip(operations.dropFirst(), operations) {
                next.addDependency(previous)
            }
            operations[0].addDependency(operations[operations.count - 1])
            await queue.addOperations(operations, waitUntilFinished: false)
            #expect(await comesTrue { cycles.events.first?.count == operations.count + 1 })
            operations[7].cancel()
            await queue.drain()
        }
    }

    @Test func cycleIsReportedAtOnceIfEachEdgeIsChecked() async {
        await #expect(processExitsWith: .success) {
            setenv("OPERATIONS_CHECK_CYCLES", "1", 1)
            let cycles = Self.recordCycles()
            let (a, b, c) = (named("a"), named("b"), named("c"))
            b.addDependency(a)
            c.addDependency(b)
            #expect(cycles.events.isEmpty)
            a.addDependency(c)
            #expect(cycles.events == [["'a'", "'c'", "'b'", "'a'"]])
            // A look does not report it again.
            let queue = OperationQueue()
            await queue.addOperations([a, b, c], waitUntilFinished: false)
            await Self.waitForLook(cycles, "look")
            #expect(cycles.events.count == 2)
            a.removeDependency(c)
            await queue.drain()
            a.addDependency(c)
            #expect(cycles.events.count == 2)
        }
    }

    // MARK: What is not reported

    /// Two edges, each against the other, come and go, but never at the same time.
    @Test func edgesThatTakeTurnsAreNoCycle() async {
        let (a, b) = (Operation(), Operation())
        // Without this, neither would wait in between.
        let before = Operation()
        for operation in [a, b] { operation.addDependency(before) }
        let turns = Tally()
        let rounds = 1_000_000 / slowness
        async let changes: Void = onThread {
            for _ in 0..<rounds {
                for (dependent, dependency) in [(a, b), (b, a)] {
                    dependent.addDependency(dependency)
                    dependent.removeDependency(dependency)
                }
                turns.increment()
            }
        }
        let found = await onThread {
            var count = 0
            while turns.value < rounds {
                let findings = CircleSearch.circles(from: [a, b], limit: 100, besides: [])
                count += findings.circles.count
            }
            return count
        }
        await changes
        #expect(found == 0)
    }

    @Test(arguments: contractSeeds.prefix(1))
    func graphsWithoutCyclesAreNotReported(seed: UInt64) async {
        await #expect(processExitsWith: .success) { [seed] in
            let cycles = Self.recordCycles()
            let queue = suspendedQueue()
            let operations = (0..<500).map { named("\($0)") }
            await queue.addOperations(operations, waitUntilFinished: false)
            await Self.linkAtRandom(operations, on: 2, count: 5_000, seed: seed) {
                dependent, dependency, _ in
                let isLater = Int(dependent.name ?? "") ?? 0 > Int(dependency.name ?? "") ?? 0
                if isLater { dependent.addDependency(dependency) }
            }
            await Self.waitForLook(cycles, "look")
            #expect(cycles.events.count == 1)
            queue.isSuspended = false
            await queue.drain()
        }
    }

    // MARK: Random graphs

    /// Breaks each reported cycle at an edge of its own, until no operation waits any more.
    @Test(arguments: contractSeeds)
    func everyCycleIsReportedUntilNoneIsLeft(seed: UInt64) async {
        await #expect(processExitsWith: .success) { [seed] in
            endSoon(EXIT_FAILURE)
            let operations = (0..<16).map { named("\($0)") }
            let reports = Tally()
            OperationsDiagnostics.handler = { finding in
                guard case .dependencyCycle(let names) = finding else { return }
                let model = GraphModel(of: operations)
                #expect(model.has(names), "seed \(seed): \(names)")
                reports.increment()
                let ends = names.prefix(2).compactMap { Int($0.dropFirst().dropLast()) }
                operations[ends[0]].removeDependency(operations[ends[1]])
            }
            await Self.linkAtRandom(operations, on: 2, count: 14, seed: seed) {
                dependent, dependency, _ in dependent.addDependency(dependency)
            }
            let hadCycle = GraphModel(of: operations).hasCycle
            let queue = OperationQueue()
            await queue.addOperations(operations, waitUntilFinished: false)
            await queue.drain()
            #expect((reports.value > 0) == hadCycle, "seed \(seed)")
        }
    }

    // MARK: Cycles that are refused

    @Test func cycleAfterBrokenCycleIsRefused() {
        let (a, b, d) = (named("a"), named("b"), named("d"))
        d.addDependency(a)
        a.addDependency(b)
        b.addDependency(a)
        a.removeDependency(b)
        #expect(throws: OperationMisuse.self) { try a.addDependencyChecked(d) }
        #expect(a.dependencies.isEmpty)
    }

    /// Compares the results with a search of all paths. Some edges are removed, and some operations
    /// are cancelled.
    @Test(arguments: contractSeeds)
    func refusedCyclesMatchModel(seed: UInt64) async {
        var random = SplitMix64(seed: seed)
        for _ in 0..<40 {
            var model = GraphModel(size: 12)
            for _ in 0..<80 {
                let (from, to) = (random.below(12), random.below(12))
                if from == to { continue }
                switch random.below(20) {
                case 0:
                    model.cancel(from)
                    model.operations[from].cancel()
                case 1...6:
                    model.remove(from, on: to)
                    model.operations[from].removeDependency(model.operations[to])
                default:
                    let closes = model.closes(from, on: to)
                    do {
                        try model.operations[from].addDependencyChecked(model.operations[to])
                        #expect(!closes, "seed \(seed)")
                        model.add(from, on: to)
                    } catch {
                        #expect(closes, "seed \(seed)")
                    }
                }
            }
            // If there were a cycle, this would not end.
            await OperationQueue().addOperations(model.operations, waitUntilFinished: true)
        }
    }

    /// Each checked edge closes a cycle, while another thread adds an edge to the same operation.
    @Test func noCycleIsAcceptedDuringSearchByAnotherThread() async {
        let rounds = 200_000 / slowness
        let triples = (0..<rounds).map { _ in
            let (x, a, b) = (Operation(), Operation(), Operation())
            b.addDependency(a)
            return (x: x, a: a, b: b)
        }
        let (arrived, accepted) = (Tally(), Tally())
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await onThread {
                    for (round, triple) in triples.enumerated() {
                        arrived.meet(2, round)
                        triple.x.addDependency(triple.a)
                    }
                }
            }
            group.addTask {
                await onThread {
                    for (round, triple) in triples.enumerated() {
                        arrived.meet(2, round)
                        do {
                            try triple.a.addDependencyChecked(triple.b)
                            accepted.increment()
                        } catch {}
                    }
                }
            }
        }
        #expect(accepted.value == 0)
    }

    /// Calls `link` for random pairs of operations, `count` times on each thread.
    private static func linkAtRandom(
        _ operations: [Operation], on threads: Int, count: Int, seed: UInt64,
        _ link: @escaping @Sendable (Operation, Operation, inout SplitMix64) -> Void
    ) async {
        let arrived = Tally()
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<threads {
                group.addTask {
                    await onThread {
                        var random = SplitMix64(seed: seed &+ UInt64(thread))
                        arrived.meet(threads, 0)
                        for _ in 0..<count {
                            let dependent = random.below(operations.count)
                            let dependency = random.below(operations.count)
                            guard dependent != dependency else { continue }
                            link(operations[dependent], operations[dependency], &random)
                        }
                    }
                }
            }
        }
    }

    @Test(arguments: contractSeeds, [2, 3, 5])
    func concurrentLinkingAcceptsNoCycle(seed: UInt64, threads: Int) async {
        for round in 0..<max(1, 60 / slowness) {
            let operations = (0..<24).map { named("\($0)") }
            await Self.linkAtRandom(
                operations, on: threads, count: 200, seed: seed &+ UInt64(round * 16)
            ) { dependent, dependency, random in
                if random.happens(1, in: 3) {
                    dependent.removeDependency(dependency)
                } else {
                    try? dependent.addDependencyChecked(dependency)
                }
            }
            let model = GraphModel(of: operations)
            #expect(!model.hasCycle, "seed \(seed), \(threads) threads")
            // If there were a cycle, this would not end.
            await OperationQueue().addOperations(operations, waitUntilFinished: true)
        }
    }
}

extension Tally {
    /// Waits until all threads have reached a round, without suspending the thread.
    fileprivate func meet(_ threads: Int, _ round: Int) {
        increment()
        var backoff = Backoff()
        while value < threads * (round + 1) { backoff.pause() }
    }
}

/// The expected graph.
private struct GraphModel {
    let operations: [Operation]
    private var dependencies: [Set<Int>]
    private var cancelled: Set<Int> = []

    init(size: Int) {
        operations = (0..<size).map { named("\($0)") }
        dependencies = Array(repeating: [], count: size)
    }

    /// A model of the actual graph.
    init(of operations: [Operation]) {
        self.operations = operations
        dependencies = operations.map { operation in
            Set(
                operation.dependencies.compactMap { dependency in
                    operations.firstIndex { $0 === dependency }
                })
        }
    }

    mutating func add(_ dependent: Int, on dependency: Int) {
        dependencies[dependent].insert(dependency)
    }
    mutating func remove(_ dependent: Int, on dependency: Int) {
        dependencies[dependent].remove(dependency)
    }
    mutating func cancel(_ index: Int) { cancelled.insert(index) }

    func closes(_ dependent: Int, on dependency: Int) -> Bool {
        if cancelled.contains(dependent) { return false }
        var seen: Set<Int> = []
        var rest = [dependency]
        while let next = rest.popLast() {
            if cancelled.contains(next) || !seen.insert(next).inserted { continue }
            if next == dependent { return true }
            rest += dependencies[next]
        }
        return false
    }

    var hasCycle: Bool {
        dependencies.indices.contains { index in
            dependencies[index].contains { closes(index, on: $0) }
        }
    }

    /// Whether each of the named operations waits for the next.
    func has(_ cycle: [String]) -> Bool {
        let indices = cycle.compactMap { Int($0.dropFirst().dropLast()) }
        return indices.count == cycle.count
            && zip(indices, indices.dropFirst()).allSatisfy {
                dependencies[$0].contains($1) && !cancelled.contains($0)
            }
    }
}
