import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The cycles that are found when an edge is added. The whole process has one handler of reports,
/// so the tests of reports run in processes of their own.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct TopologicalOrderTests {
    /// Records each reported cycle as the names of its operations.
    static func recordCycles() -> Recorder<[String]> {
        let cycles = Recorder<[String]>()
        OperationsDiagnostics.handler = { finding in
            if case .dependencyCycle(let names) = finding { cycles.record(names) }
        }
        return cycles
    }

    // MARK: Cycles

    @Test func cycleAfterBrokenCycleIsReported() async {
        await #expect(processExitsWith: .success) {
            let cycles = Self.recordCycles()
            let (a, b, _, d) = (named("a"), named("b"), named("c"), named("d"))
            d.addDependency(a)
            a.addDependency(b)
            b.addDependency(a)
            a.removeDependency(b)
            a.addDependency(d)
            #expect(cycles.events == [["'b'", "'a'", "'b'"], ["'a'", "'d'", "'a'"]])
        }
    }

    @Test func cycleAfterBrokenCycleIsRefused() async {
        await #expect(processExitsWith: .success) {
            _ = Self.recordCycles()
            let (a, b, _, d) = (named("a"), named("b"), named("c"), named("d"))
            d.addDependency(a)
            a.addDependency(b)
            b.addDependency(a)
            a.removeDependency(b)
            #expect(throws: OperationMisuse.self) { try a.addDependencyChecked(d) }
            #expect(a.dependencies.isEmpty)
        }
    }

    /// The second cycle contains the edge that closed the first cycle, which still exists.
    @Test func cycleOverClosingEdgeOfAnotherIsReported() async {
        await #expect(processExitsWith: .success) {
            let cycles = Self.recordCycles()
            let (a, b, c) = (named("a"), named("b"), named("c"))
            b.addDependency(a)
            a.addDependency(b)
            c.addDependency(a)
            b.addDependency(c)
            #expect(cycles.events.count == 2)
            #expect(throws: OperationMisuse.self) { try a.addDependencyChecked(c) }
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
                        // The operations were created in the other order, so this needs a search.
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

    // MARK: Random graphs

    /// Compares the results with a search of all paths. Some edges stay although they close cycles;
    /// others are removed, and some operations are cancelled.
    @Test(arguments: contractSeeds)
    func foundCyclesMatchModel(seed: UInt64) async {
        await #expect(processExitsWith: .success) { [seed] in
            let cycles = Self.recordCycles()
            var random = SplitMix64(seed: seed)
            for _ in 0..<40 {
                var model = GraphModel(size: 12)
                for _ in 0..<80 {
                    let (from, to) = (random.below(12), random.below(12))
                    if from == to { continue }
                    let before = cycles.events.count
                    switch random.below(20) {
                    case 0:
                        model.cancel(from)
                        model.operations[from].cancel()
                    case 1...6:
                        model.remove(from, on: to)
                        model.operations[from].removeDependency(model.operations[to])
                    case 7...8:
                        let closes = model.closes(from, on: to)
                        model.add(from, on: to)
                        model.operations[from].addDependency(model.operations[to])
                        #expect((cycles.events.count > before) == closes, "seed \(seed)")
                        if closes {
                            #expect(
                                Array(cycles.events[before].prefix(2)) == ["'\(from)'", "'\(to)'"],
                                "seed \(seed)")
                        }
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
                    for cycle in cycles.events[before...] {
                        #expect(model.has(cycle), "seed \(seed): \(cycle)")
                    }
                }
                #expect(model.agreesWithRanks(), "seed \(seed)")
                // Breaks all cycles, so that they retain no operation.
                for operation in model.operations { operation.cancel() }
                await OperationQueue().addOperations(model.operations, waitUntilFinished: true)
            }
        }
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
            #expect(model.agreesWithRanks(), "seed \(seed), \(threads) threads")
            // If there were a cycle, this would not end.
            await OperationQueue().addOperations(operations, waitUntilFinished: true)
        }
    }

    @Test(arguments: contractSeeds, [2, 3])
    func everyCycleClosedByConcurrentLinkingIsReported(seed: UInt64, threads: Int) async {
        await #expect(processExitsWith: .success) { [seed, threads] in
            endSoon(EXIT_FAILURE)
            for round in 0..<max(1, 100 / slowness) {
                let cycles = Self.recordCycles()
                let operations = (0..<16).map { named("\($0)") }
                await Self.linkAtRandom(
                    operations, on: threads, count: 40 / threads, seed: seed &+ UInt64(round * 16)
                ) { dependent, dependency, _ in dependent.addDependency(dependency) }
                var model = GraphModel(of: operations)
                for cycle in cycles.events {
                    #expect(model.has(cycle), "seed \(seed): \(cycle)")
                }
                // Without the edges that closed a reported cycle no cycle is left.
                for cycle in cycles.events {
                    let ends = cycle.prefix(2).compactMap { Int($0.dropFirst().dropLast()) }
                    model.remove(ends[0], on: ends[1])
                }
                #expect(!model.hasCycle, "seed \(seed), \(threads) threads")
                #expect(cycles.events.isEmpty || GraphModel(of: operations).hasCycle)
                for operation in operations { operation.cancel() }
                await OperationQueue().addOperations(operations, waitUntilFinished: true)
            }
        }
    }

    // MARK: Lifetimes

    /// A search reaches dependents that nothing retains.
    @Test func dependentMayBeFreedDuringSearch() async {
        final class Counted: Operation, @unchecked Sendable {
            let gone: Tally
            init(_ gone: Tally) { self.gone = gone }
            deinit { gone.increment() }
        }
        let gone = Tally()
        let rounds = 20_000 / slowness
        let hub = Operation()
        let ended = Tally()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await onThread {
                    for _ in 0..<rounds {
                        let (near, far) = (Counted(gone), Counted(gone))
                        near.addDependency(hub)
                        far.addDependency(near)
                    }
                    ended.increment()
                }
            }
            group.addTask {
                await onThread {
                    while ended.value == 0 {
                        // Created after the hub, and long enough that the search continues through
                        // the hub.
                        let chain = (0..<40).map { _ in Operation() }
                        for (next, previous) in zip(chain.dropFirst(), chain) {
                            next.addDependency(previous)
                        }
                        let last = chain[chain.count - 1]
                        hub.addDependency(last)
                        hub.removeDependency(last)
                    }
                }
            }
        }
        #expect(gone.value == 2 * rounds)
    }

    // MARK: Search cost

    /// The number of edges that the searches of the calling thread have examined.
    private static var stepsOfThread: Int { ThreadContext.current.orderSteps }

    enum Shape: CaseIterable {
        case chain, tree, random, layers

        /// Pairs of dependent and dependency, as positions in an order that all pairs agree with.
        func edges(_ count: Int, _ random: inout SplitMix64) -> [(Int, Int)] {
            switch self {
            case .chain: (1..<count).map { ($0, $0 - 1) }
            case .tree: (1..<count).map { ($0, ($0 - 1) / 2) }
            case .random:
                (1..<count).flatMap { [($0, random.below($0)), ($0, random.below($0))] }
            case .layers:
                (100..<count).flatMap { index in
                    (0..<4).map { _ in (index, (index / 100 - 1) * 100 + random.below(100)) }
                }
            }
        }
    }

    @Test(arguments: Shape.allCases, contractSeeds.prefix(1))
    func searchCostOfEdgeIsBounded(shape: Shape, seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let count = max(2_000, 20_000 / slowness)
        let edges = shape.edges(count, &random)
        let shuffled = edges.shuffled(using: &random)
        for order in [Array((0..<count).reversed()), (0..<count).shuffled(using: &random)] {
            for (linked, limit) in [(edges, 1.0), (edges.reversed(), 1), (shuffled, 60)] {
                let operations = (0..<count).map { _ in Operation() }
                let before = Self.stepsOfThread
                for (dependent, dependency) in linked {
                    operations[order[dependent]].addDependency(operations[order[dependency]])
                }
                let steps = Double(Self.stepsOfThread - before) / Double(edges.count)
                #expect(steps <= limit, "\(shape), seed \(seed): \(steps) steps an edge")
            }
        }
    }

    /// All operations are inserted between the same two, each of which has a long chain on its
    /// other side.
    @Test func fullRankGapIsWidenedCheaply() {
        let count = 5_000
        let all = (0..<2_000).map { _ in Operation() }
        for (next, previous) in zip(all.dropFirst(), all) { next.addDependency(previous) }
        let upper = all[1_000]
        var last = all[999]
        let before = Self.stepsOfThread
        var operations = all
        for _ in 0..<count {
            let next = Operation()
            next.addDependency(last)
            upper.addDependency(next)
            last = next
            operations.append(next)
        }
        let steps = (Self.stepsOfThread - before) / count
        #expect(steps <= 200, "\(steps) steps an edge")
        #expect(operations.allSatisfy { $0.isRankedAboveDependencies })
    }

    @Test func manyDependentsAreNotSearchedForEachEdge() {
        let hub = Operation()
        let dependents = (0..<5_000).map { _ in Operation() }
        for dependent in dependents { dependent.addDependency(hub) }
        let before = Self.stepsOfThread
        for _ in 0..<1_000 {
            let (first, second) = (Operation(), Operation())
            second.addDependency(first)
            hub.addDependency(second)
        }
        #expect(Self.stepsOfThread - before <= 20_000)
        withExtendedLifetime(dependents) {}
    }

    @Test func existingCycleCostsOtherGraphsNothing() async {
        await #expect(processExitsWith: .success) {
            _ = Self.recordCycles()
            let (a, b) = (Operation(), Operation())
            a.addDependency(b)
            b.addDependency(a)
            let before = Self.stepsOfThread
            let others = (0..<1_000).map { _ in Operation() }
            for (next, previous) in zip(others.dropFirst(), others) { next.addDependency(previous) }
            #expect(Self.stepsOfThread == before)
            withExtendedLifetime((a, b)) {}
        }
    }

    /// At the end of the range of labels, operations share a rank.
    @Test func cyclesAreFoundWhenRanksAreExhausted() throws {
        let operations = (0..<20).map { _ in Operation() }
        for operation in operations {
            operation.rank.store(Rank(label: Rank.highestLabel + 1).bits, ordering: .relaxed)
        }
        for (next, previous) in zip(operations.dropFirst(), operations) {
            try next.addDependencyChecked(previous)
        }
        for index in 1..<20 {
            #expect(throws: OperationMisuse.self) {
                try operations[0].addDependencyChecked(operations[index])
            }
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

extension Operation {
    fileprivate var isRankedAboveDependencies: Bool {
        dependencies.allSatisfy {
            $0.rank.load(ordering: .relaxed) <= rank.load(ordering: .relaxed)
        }
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

    func agreesWithRanks() -> Bool {
        operations.indices.allSatisfy { index in
            cancelled.contains(index)
                || dependencies[index].allSatisfy {
                    cancelled.contains($0)
                        || operations[$0].rank.load(ordering: .relaxed)
                            <= operations[index].rank.load(ordering: .relaxed)
                }
        }
    }
}
