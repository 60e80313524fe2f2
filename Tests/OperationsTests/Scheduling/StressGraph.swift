import Dispatch
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization

@testable import Operations

/// One round: operations of every kind over several queues, and threads that disturb them.
///
/// Unchecked: the arrays are filled before the disturbances begin, and released after they have
/// ended.
final class StressGraph: @unchecked Sendable {
    /// The recorded events of one operation.
    final class Trace: Sendable {
        let runs = Tally()
        let completions = Tally()
        let isCancelRequested = Atomic(false)
        let wasEarly = Atomic(false)
        /// Set before the operation or its dependents can run; dependencies that are removed later
        /// are not recorded.
        let dependencies = Locked<[Int]>([])
        let isOver = Atomic(false)
    }

    struct Home {
        let queue: OperationQueue
        /// The greatest width that the queue ever has; 0 for no limit.
        let width: Int
        let inside = Occupancy()
    }

    private struct Weak { weak var object: AnyObject? }

    let seed: UInt64
    let traces: [Trace]
    private(set) var operations: [Operation] = []
    private var homeIndices: [Int] = []
    private(set) var homes: [Home]
    private var references: [Weak] = []
    private let violations = TestRecorder<String>()

    init(seed: UInt64, count: Int) {
        self.seed = seed
        traces = (0..<count).map { _ in Trace() }
        homes = [1, 2, 5, 0, 3].map { width in
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount =
                width == 0 ? OperationQueue.defaultMaxConcurrentOperationCount : width
            return Home(queue: queue, width: width)
        }
        var random = SplitMix64(seed: seed)
        for index in 0..<count { make(index, &random) }
        references =
            operations.map { Weak(object: $0) } + homes.map { Weak(object: $0.queue) }
    }

    // MARK: Making

    private func make(_ index: Int, _ random: inout SplitMix64) {
        let home = random.below(homes.count)
        homeIndices.append(home)
        let work = self.work(index, home)
        let operation: Operation
        switch random.below(13) {
        case 0..<4: operation = BlockOperation(block: work)
        case 4:
            let block = BlockOperation(block: work)
            for _ in 0..<random.below(4) { block.addExecutionBlock {} }
            operation = block
        case 5: operation = MainOnly(work)
        case 6: operation = DispatchedOperation(work)
        case 7:
            operation = TypedOperation<Void> {
                await Task.yield()
                work()
            }
        case 8: operation = Flipping(work)
        case 9: operation = Impatient(work)
        case 10: operation = waiting(index, work, &random)
        case 11:
            // Its jobs come from the threads of a callback.
            operation = TypedOperation<Void> {
                for _ in 0..<3 { await Self.callback() }
                work()
            }
        default: operation = BlockOperation(block: work)
        }
        if random.happens(2, in: 3), index > 0 {
            for _ in 0..<(1 + random.below(random.happens(1, in: 10) ? 12 : 3)) {
                let other = max(0, index - 1 - random.below(40))
                traces[index].dependencies.withLock { $0.append(other) }
                operation.addDependency(operations[other])
            }
        }
        if random.happens(1, in: 3), home == 4 {
            operation.queuePriority = Self.priority(&random)
        }
        let trace = traces[index]
        operation.completionBlock = { trace.completions.increment() }
        operations.append(operation)
    }

    private static func callback() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume() }
        }
    }

    static func priority(_ random: inout SplitMix64) -> Operation.QueuePriority {
        Operation.QueuePriority.allCases[random.below(5)]
    }

    /// An operation that waits for one created earlier, so that waits agree with dependencies.
    private func waiting(
        _ index: Int, _ work: @escaping @Sendable () -> Void, _ random: inout SplitMix64
    ) -> Operation {
        // A waiting operation holds its slot. Only a queue without a limit has slots left for the
        // other operations.
        guard homeIndices[index] == 3, index > 0 else { return BlockOperation(block: work) }
        let other = operations[max(0, index - 1 - random.below(20))]
        return BlockOperation {
            other.waitUntilFinished()
            work()
        }
    }

    private func work(_ index: Int, _ home: Int) -> @Sendable () -> Void {
        let (trace, inside) = (traces[index], homes[home].inside)
        let traces = traces
        return {
            inside.enter()
            trace.runs.increment()
            let awaited = trace.dependencies.withLock { $0 }
            if !awaited.allSatisfy({
                traces[$0].isOver.load(ordering: .acquiring) || traces[$0].mayBeSkipped
            }) {
                trace.wasEarly.store(true, ordering: .relaxed)
            }
            inside.leave()
            trace.isOver.store(true, ordering: .releasing)
        }
    }

    // MARK: Running

    /// Runs everything and returns the violations.
    func run() async -> [String] {
        await withTaskGroup(of: Void.self) { group in
            let disturbances = [
                disturbCancels, disturbQueues, disturbPriorities, disturbQualities, disturbEdges,
                wait,
            ]
            // The disturbances block and spin, and must not use up the threads of tasks.
            for (number, disturbance) in disturbances.enumerated() {
                let start = SplitMix64(seed: seed &+ UInt64(number + 1) &* 0x1234_5678_9ABC)
                group.addTask { await onThread { disturbance(start) } }
            }
            for part in 0..<3 {
                group.addTask { await onThread { self.add(part: part, of: 3) } }
            }
            group.addTask { await self.waitInTask() }
        }
        for home in homes { home.queue.isSuspended = false }
        for home in homes { await home.queue.drain() }
        for trace in traces {
            _ = await comesTrue { trace.completions.value >= 1 }
        }
        check()
        return violations.events
    }

    /// Adds operations one by one and in bulk, in any order.
    private func add(part: Int, of parts: Int) {
        var random = SplitMix64(seed: seed ^ UInt64(part))
        var rest = operations.indices.filter { $0 % parts == part }.shuffled(using: &random)
        if hasBarriers { rest = part == 0 ? operations.indices.reversed() : [] }
        var added = [[Operation]](repeating: [], count: homes.count)
        while let index = rest.popLast() {
            let home = homeIndices[index]
            if hasBarriers {
                if random.happens(1, in: 30) { addBarrier(to: home, after: added[home]) }
                added[home].append(operations[index])
                homes[home].queue.addOperation(operations[index])
                continue
            }
            if random.happens(1, in: 20) {
                let more = rest.filter { homeIndices[$0] == home }.prefix(40)
                rest.removeAll { more.contains($0) }
                homes[home].queue.addOperations(
                    ([index] + more).map { operations[$0] }, waitUntilFinished: false)
            } else {
                homes[home].queue.addOperation(operations[index])
            }
        }
    }

    /// With barriers, one thread adds all operations in order: a dependency behind a barrier would
    /// never start.
    private var hasBarriers: Bool { seed % 2 == 0 }

    private func addBarrier(to home: Int, after earlier: [Operation]) {
        let inside = homes[home].inside
        homes[home].queue.addBarrierBlock { [violations] in
            if !earlier.allSatisfy(\.isFinished) { violations.record("a barrier started early") }
            if inside.now > 0 { violations.record("an operation ran beside a barrier") }
        }
    }

    private func disturbCancels(_ start: SplitMix64) {
        var random = start
        for _ in 0..<(traces.count / 20) {
            let index = random.below(traces.count)
            // The operation would finish, and could not be added any more.
            if operations[index] is Impatient, operations[index].status.phase == .created {
                continue
            }
            traces[index].isCancelRequested.store(true, ordering: .releasing)
            operations[index].cancel()
        }
        guard random.happens(1, in: 4) else { return }
        let home = random.below(homes.count)
        for index in operations.indices where homeIndices[index] == home {
            traces[index].isCancelRequested.store(true, ordering: .releasing)
        }
        homes[home].queue.cancelAllOperations()
    }

    private func disturbQueues(_ start: SplitMix64) {
        var random = start
        for _ in 0..<(traces.count / 10) {
            let home = homes[random.below(homes.count)]
            home.queue.isSuspended.toggle()
            if home.width > 0 {
                home.queue.maxConcurrentOperationCount = 1 + random.below(home.width)
            }
            _ = home.queue.operationCount
            if random.happens(1, in: 10) { _ = home.queue.operations.count }
        }
        for home in homes { home.queue.isSuspended = false }
    }

    private func disturbPriorities(_ start: SplitMix64) {
        var random = start
        for _ in 0..<(traces.count / 2) {
            operations[random.below(traces.count)].queuePriority = Self.priority(&random)
        }
    }

    /// Every other round uses qualities of service, of operations and of queues.
    private func disturbQualities(_ start: SplitMix64) {
        var random = start
        guard random.happens(1, in: 2) else { return }
        let qualities = QualityOfService.allCases
        for _ in 0..<(traces.count / 5) {
            let quality = qualities[random.below(qualities.count)]
            if random.happens(1, in: 20) {
                homes[random.below(homes.count)].queue.qualityOfService = quality
            } else {
                operations[random.below(traces.count)].qualityOfService = quality
            }
        }
    }

    /// Adds late edges, in the order in which the operations were created, and edges to operations
    /// that are never enqueued.
    private func disturbEdges(_ start: SplitMix64) {
        var random = start
        var dropped: [Operation] = []
        for _ in 0..<(traces.count / 2) {
            let index = 1 + random.below(traces.count - 1)
            let operation = operations[index]
            let other = operations[max(0, index - 1 - random.below(40))]
            switch random.below(4) {
            case 0: operation.addDependency(other)
            case 1:
                let extra = BlockOperation {}
                operation.addDependency(extra)
                operation.removeDependency(extra)
            case 2:
                let extra = Operation()
                for _ in 0..<4 { extra.addDependency(operations[random.below(traces.count)]) }
                if let last = dropped.last { extra.addDependency(last) }
                dropped.append(extra)
                if dropped.count > 20 { dropped = [] }
            default:
                let extra = BlockOperation {}
                operation.addDependency(extra)
                extra.cancel()
                homes[3].queue.addOperation(extra)
            }
        }
    }

    private func wait(_ start: SplitMix64) {
        var random = start
        for _ in 0..<10 {
            let index = random.below(traces.count)
            operations[index].waitUntilFinished()
            checkHasLeft(index)
        }
    }

    private func waitInTask() async {
        var random = SplitMix64(seed: ~seed)
        for _ in 0..<10 {
            let index = random.below(traces.count)
            await operations[index].waitUntilFinished()
            checkHasLeft(index)
        }
    }

    // MARK: Checking

    private func checkHasLeft(_ index: Int) {
        if !operations[index].isFinished { violations.record("\(index): a wait returned early") }
        if homes[homeIndices[index]].queue.operations.contains(operations[index]) {
            violations.record("\(index): in its queue after a wait")
        }
    }

    private func check() {
        for (index, trace) in traces.enumerated() {
            let operation = operations[index]
            let runs = trace.runs.value
            if runs > 1 { violations.record("\(index) ran \(runs) times") }
            if runs == 0, !trace.mayBeSkipped { violations.record("\(index) did not run") }
            if runs == 0, !operation.isCancelled {
                violations.record("\(index): skipped, not cancelled")
            }
            if !operation.isFinished { violations.record("\(index) has not finished") }
            if trace.wasEarly.load(ordering: .relaxed) {
                violations.record("\(index) ran before a dependency")
            }
            if trace.completions.value != 1 {
                violations.record("\(index) completed \(trace.completions.value) times")
            }
        }
        for home in homes {
            if home.width > 0, home.inside.highest > home.width {
                violations.record("width \(home.width): \(home.inside.highest) ran")
            }
            if home.queue.operationCount != 0 { violations.record("a drained queue is not empty") }
        }
    }

    /// Releases everything, waits until it is freed, and returns the number of objects that remain.
    func aliveAfterRelease() async -> Int {
        operations = []
        homes = []
        if await comesTrue({ references.allSatisfy { $0.object == nil } }) { return 0 }
        return references.count { $0.object != nil }
    }
}

extension StressGraph.Trace {
    var mayBeSkipped: Bool { isCancelRequested.load(ordering: .acquiring) }
}

/// Overrides `main()` and nothing else.
private final class MainOnly: Operation, @unchecked Sendable {
    private let work: @Sendable () -> Void
    init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    override func main() { work() }
}

/// Is ready at every other call of `isReady`; each call in between announces a change.
private final class Flipping: Operation, @unchecked Sendable {
    private let work: @Sendable () -> Void
    private let calls = Atomic<Int>(0)
    init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    override func main() { work() }
    override var isReady: Bool {
        let number = calls.add(1, ordering: .relaxed).newValue
        guard number > 8 || number % 2 == 0 else {
            DispatchQueue.global().async { [self] in didChangeValue(forKey: "isReady") }
            return false
        }
        return super.isReady
    }
}

/// Reports its end from inside `cancel()`, whatever its queue is about to do with it.
private final class Impatient: StateKeepingOperation, @unchecked Sendable {
    private let work: @Sendable () -> Void
    /// The thread that sets it first ends the operation.
    private let isTaken = Atomic(false)
    init(_ work: @escaping @Sendable () -> Void) { self.work = work }

    override func start() {
        if isTaken.exchange(true, ordering: .acquiringAndReleasing) { return }
        if !isCancelled {
            stage = .executing
            work()
        }
        stage = .finished
    }

    override func cancel() {
        super.cancel()
        if !isTaken.exchange(true, ordering: .acquiringAndReleasing) { stage = .finished }
    }
}
