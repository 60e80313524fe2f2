/// How a peer does the work of each workload; nil where it has nothing of the kind.
///
/// What exactly is measured is written at each workload (`Workloads/`); all peers keep to it.
protocol Contender: Sendable {
    /// Empty blocks, added one by one from one thread.
    func independent(_ count: Int) -> Duration?
    /// Bytes for each of so many blocks that wait to be run; leaves them behind, so the process must end.
    func bytesQueued(_ count: Int) -> Double?
    /// A block for each node, run after those that it depends on.
    func run(_ graph: Graph) -> Duration?
    /// The same in a queue that is looked at.
    func run(_ graph: Graph, seenBy onlookers: Onlookers) -> Duration?
    /// Blocks of given priorities on a suspended serial queue, which is then resumed.
    func prioritized(_ priorities: [Int]) -> Duration?
    /// Blocks on a suspended queue, all cancelled, then the queue is resumed and drained.
    func cancelled(_ count: Int) -> Duration?
    /// From adding one block to its first instruction, with nothing else going on.
    func latencies(_ count: Int) -> [Duration]?
    /// Blocks that block for so long, all in one operation.
    func blockingInOne(_ count: Int, milliseconds: Int) -> Duration?
    /// As many pieces of work that block for so long.
    func blocking(_ count: Int, milliseconds: Int) -> Duration?
    /// Pieces of work with an `async` body that suspends once.
    func asynchronous(_ count: Int) -> Duration?
    /// A chain of functions, each of which adds one to the result of the one before.
    func typedChain(_ count: Int) -> Duration?
    /// The same, of `async` functions that do not suspend.
    func asyncChain(_ count: Int) -> Duration?
    /// Empty blocks, added to one queue from several threads at once.
    func produced(_ count: Int, by producers: Int) -> Duration?
    /// Changes of single operations among so many that are queued.
    func changes(among count: Int) -> Changes?
    /// Nanoseconds for each edge of a graph that is linked in order, and how many times as long other orders take, and
    /// two threads.
    func linked(_ graph: Graph) -> [Double]?
    /// So many of something that has to be found, or released, among its kind.
    func grown(_ growth: Growth, _ count: Int) -> Duration?
    /// The same for a program of its own, which gets the workload's name and gives back its figures.
    func external(_ arguments: [String]) throws -> [Double]?
}

/// What one call takes.
struct Changes: Sendable {
    var priority: Duration
    var addDependency: Duration
    var removeDependency: Duration
    var cancel: Duration
}

extension Contender {
    func independent(_ count: Int) -> Duration? { nil }
    func bytesQueued(_ count: Int) -> Double? { nil }
    func run(_ graph: Graph) -> Duration? { nil }
    func run(_ graph: Graph, seenBy onlookers: Onlookers) -> Duration? { nil }
    func prioritized(_ priorities: [Int]) -> Duration? { nil }
    func cancelled(_ count: Int) -> Duration? { nil }
    func latencies(_ count: Int) -> [Duration]? { nil }
    func blockingInOne(_ count: Int, milliseconds: Int) -> Duration? { nil }
    func blocking(_ count: Int, milliseconds: Int) -> Duration? { nil }
    func asynchronous(_ count: Int) -> Duration? { nil }
    func typedChain(_ count: Int) -> Duration? { nil }
    func asyncChain(_ count: Int) -> Duration? { nil }
    func produced(_ count: Int, by producers: Int) -> Duration? { nil }
    func changes(among count: Int) -> Changes? { nil }
    func linked(_ graph: Graph) -> [Double]? { nil }
    func grown(_ growth: Growth, _ count: Int) -> Duration? { nil }
    func external(_ arguments: [String]) throws -> [Double]? { nil }
}
