/// The implementation of each workload by a peer; a method returns nil if the peer has no
/// equivalent.
///
/// Each workload in `Workloads/` documents exactly what is measured; all peers follow it.
protocol Contender: Sendable {
    /// Runs empty blocks, added one by one from one thread.
    func independent(_ count: Int) -> Duration?
    /// The same, added as closures; most peers have no other way.
    func closures(_ count: Int) -> Duration?
    /// The same, with an operation among each thousand closures.
    func mixed(_ count: Int) -> Duration?
    /// Returns the bytes for each of `count` queued blocks. The blocks never run, so the process
    /// must end.
    func bytesQueued(_ count: Int) -> Double?
    /// Runs a block for each node, after the blocks of its dependencies.
    func run(_ graph: Graph) -> Duration?
    /// The same with the peer's own kind of graph, if it is not the one of ``run(_:)-(Graph)``.
    func runBlocks(_ graph: Graph) -> Duration?
    /// Runs a graph that has run before, so many times.
    func runAgain(_ graph: Graph, times: Int) -> Duration?
    /// Makes a task change its executor so many times, there and back.
    func hops(_ hop: Hop, _ count: Int) -> Duration?
    /// Runs a chain by the peer's own means of starting one piece of work after another.
    func notifiedChain(_ count: Int) -> Duration?
    /// Runs a graph in a queue with observers.
    func run(_ graph: Graph, seenBy onlookers: Onlookers) -> Duration?
    /// Runs pieces of work with an `async` body that suspends once, in a queue with observers.
    func asynchronous(_ count: Int, seenBy onlookers: Onlookers) -> Duration?
    /// Adds blocks of the given priorities to a suspended serial queue, then resumes it.
    func prioritized(_ priorities: [Int]) -> Duration?
    /// Adds blocks to a suspended queue, cancels all, then resumes and drains the queue.
    func cancelled(_ count: Int) -> Duration?
    /// Measures from adding one block to its first instruction, while nothing else runs.
    func latencies(_ count: Int) -> [Duration]?
    /// Runs blocks that block for the given time, all in one operation.
    func blockingInOne(_ count: Int, milliseconds: Int) -> Duration?
    /// Runs `count` pieces of work that block for the given time.
    func blocking(_ count: Int, milliseconds: Int) -> Duration?
    /// Runs pieces of work with an `async` body that suspends once.
    func asynchronous(_ count: Int) -> Duration?
    /// Runs pieces of work with an `async` body that suspends until another thread resumes it.
    func resumed(_ count: Int) -> Duration?
    /// Runs a chain of functions, each of which adds one to the result of the previous function.
    func typedChain(_ count: Int) -> Duration?
    /// Runs the same chain with `async` functions that do not suspend.
    func asyncChain(_ count: Int) -> Duration?
    /// Runs empty blocks, added to one queue from several threads at once.
    func produced(_ count: Int, by producers: Int) -> Duration?
    /// Makes `count` queues, runs empty blocks in each, and drops the queues.
    func queues(_ count: Int, blocksEach: Int) -> Duration?
    /// Measures changes of single operations among `count` queued operations.
    func changes(among count: Int) -> Changes?
    /// Returns the nanoseconds for each edge of a graph that is linked in order, then the ratios of
    /// other orders and of two threads to that time.
    func linked(_ graph: Graph) -> [Double]?
    /// Measures finding or releasing each of `count` items among items of its kind.
    func grown(_ growth: Growth, _ count: Int) -> Duration?
    /// Runs a separate program with the workload's name as argument, and returns its figures.
    func external(_ arguments: [String]) throws -> [Double]?
}

/// The duration of one call of each kind.
struct Changes: Sendable {
    var priority: Duration
    var addDependency: Duration
    var removeDependency: Duration
    var cancel: Duration
}

extension Contender {
    func independent(_ count: Int) -> Duration? { nil }
    func closures(_ count: Int) -> Duration? { independent(count) }
    func mixed(_ count: Int) -> Duration? { nil }
    func bytesQueued(_ count: Int) -> Double? { nil }
    func run(_ graph: Graph) -> Duration? { nil }
    func runBlocks(_ graph: Graph) -> Duration? { nil }
    func runAgain(_ graph: Graph, times: Int) -> Duration? { nil }
    func hops(_ hop: Hop, _ count: Int) -> Duration? { nil }
    func notifiedChain(_ count: Int) -> Duration? { run(Graph.chain(count)) }
    func run(_ graph: Graph, seenBy onlookers: Onlookers) -> Duration? { nil }
    func asynchronous(_ count: Int, seenBy onlookers: Onlookers) -> Duration? { nil }
    func prioritized(_ priorities: [Int]) -> Duration? { nil }
    func cancelled(_ count: Int) -> Duration? { nil }
    func latencies(_ count: Int) -> [Duration]? { nil }
    func blockingInOne(_ count: Int, milliseconds: Int) -> Duration? { nil }
    func blocking(_ count: Int, milliseconds: Int) -> Duration? { nil }
    func asynchronous(_ count: Int) -> Duration? { nil }
    func resumed(_ count: Int) -> Duration? { nil }
    func typedChain(_ count: Int) -> Duration? { nil }
    func asyncChain(_ count: Int) -> Duration? { nil }
    func produced(_ count: Int, by producers: Int) -> Duration? { nil }
    func queues(_ count: Int, blocksEach: Int) -> Duration? { nil }
    func changes(among count: Int) -> Changes? { nil }
    func linked(_ graph: Graph) -> [Double]? { nil }
    func grown(_ growth: Growth, _ count: Int) -> Duration? { nil }
    func external(_ arguments: [String]) throws -> [Double]? { nil }
}
