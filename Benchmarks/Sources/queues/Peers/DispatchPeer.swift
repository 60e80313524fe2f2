import Dispatch
import Synchronization

/// Dispatch: a new concurrent queue for each run, and a group to wait for.
///
/// Dispatch has no dependencies between blocks. Graphs are implemented as programs do by hand: each
/// node counts its unfinished dependencies, and the block that brings a count to zero adds that
/// node's block.
struct DispatchPeer: Contender {
    private func makeQueue() -> DispatchQueue {
        DispatchQueue(label: "benchmark", attributes: .concurrent)
    }

    func independent(_ count: Int) -> Duration? {
        let marks = Marks(count: count)
        let queue = makeQueue()
        let group = DispatchGroup()
        let duration = time {
            for index in 0..<count { queue.async(group: group) { marks.mark(index) } }
            group.wait()
        }
        marks.release(expecting: 1, of: .dispatch)
        return duration
    }

    func bytesQueued(_ count: Int) -> Double? {
        let marks = Marks(count: count)
        let queue = makeQueue()
        queue.suspend()
        // Dispatch stops the program if a suspended queue is released.
        _ = Unmanaged.passRetained(queue)
        guard let before = ResidentMemory.bytes else { return nil }
        for index in 0..<count { queue.async { marks.mark(index) } }
        guard let after = ResidentMemory.bytes else { return nil }
        return Double(after - before) / Double(count)
    }

    func run(_ graph: Graph) -> Duration? {
        let marks = Marks(count: graph.count)
        let queue = makeQueue()
        let duration = time {
            let run = CountedGraph(graph, marks, queue)
            run.addRoots()
            run.group.wait()
        }
        marks.release(expecting: 1, of: .dispatch)
        return duration
    }

    /// Each item notifies the queue of its end, which starts the next item.
    func notifiedChain(_ count: Int) -> Duration? {
        let marks = Marks(count: count)
        let queue = makeQueue()
        let duration = time {
            let items = (0..<count).map { index in DispatchWorkItem { marks.mark(index) } }
            for index in 1..<count { items[index - 1].notify(queue: queue, execute: items[index]) }
            queue.async(execute: items[0])
            items[count - 1].wait()
        }
        marks.release(expecting: 1, of: .dispatch)
        return duration
    }

    func cancelled(_ count: Int) -> Duration? {
        let marks = Marks(count: count)
        let queue = makeQueue()
        queue.suspend()
        let group = DispatchGroup()
        let duration = time {
            var items: [DispatchWorkItem] = []
            for index in 0..<count {
                let item = DispatchWorkItem { marks.mark(index) }
                queue.async(group: group, execute: item)
                items.append(item)
            }
            for item in items { item.cancel() }
            queue.resume()
            group.wait()
        }
        marks.release(expecting: 0, of: .dispatch)
        return duration
    }

    func latencies(_ count: Int) -> [Duration]? {
        let queue = makeQueue()
        return Latency.measure(count) { block in queue.async(execute: block) }
    }

    func blocking(_ count: Int, milliseconds: Int) -> Duration? {
        let queue = makeQueue()
        let group = DispatchGroup()
        return time {
            for _ in 0..<count {
                queue.async(group: group) { Threads.pause(milliseconds: milliseconds) }
            }
            group.wait()
        }
    }

    func hops(_ hop: Hop, _ count: Int) -> Duration? {
        guard hop == .blocking else { return nil }
        let marks = Marks(count: count)
        let duration = time {
            waitForTask {
                for index in 0..<count {
                    await withCheckedContinuation { continuation in
                        DispatchQueue.global().async {
                            marks.mark(index)
                            continuation.resume()
                        }
                    }
                }
            }
        }
        marks.release(expecting: 1, of: .dispatch)
        return duration
    }

    func queues(_ count: Int, blocksEach: Int) -> Duration? {
        let marks = Marks(count: max(1, count * blocksEach))
        let group = DispatchGroup()
        let duration = time {
            var queues = (0..<count).map { _ in makeQueue() }
            for (number, queue) in queues.enumerated() {
                for index in 0..<blocksEach {
                    queue.async(group: group) { marks.mark(number * blocksEach + index) }
                }
            }
            group.wait()
            queues = []
        }
        marks.release(expecting: blocksEach == 0 ? 0 : 1, of: .dispatch)
        return duration
    }

    func produced(_ count: Int, by producers: Int) -> Duration? {
        let share = count / producers
        let marks = Marks(count: share * producers)
        let queue = makeQueue()
        let group = DispatchGroup()
        let start = Threads.race(producers) { producer in
            for index in producer * share..<(producer + 1) * share {
                queue.async(group: group) { marks.mark(index) }
            }
        }
        group.wait()
        let duration = ContinuousClock.now - start
        marks.release(expecting: 1, of: .dispatch)
        return duration
    }
}

/// A graph whose nodes count their unfinished dependencies down.
///
/// Unchecked: the counts are atomic, and the pointer to them does not change.
private final class CountedGraph: @unchecked Sendable {
    let group = DispatchGroup()
    private let graph: Graph
    private let marks: Marks
    private let queue: DispatchQueue
    private let unfinished: UnsafeMutablePointer<Atomic<Int>>

    init(_ graph: Graph, _ marks: Marks, _ queue: DispatchQueue) {
        self.graph = graph
        self.marks = marks
        self.queue = queue
        unfinished = .allocate(capacity: graph.count)
        for node in 0..<graph.count {
            (unfinished + node).initialize(to: Atomic(graph.dependencies(of: node).count))
        }
    }

    deinit {
        unfinished.deinitialize(count: graph.count)
        unfinished.deallocate()
    }

    func addRoots() {
        for node in 0..<graph.count where graph.dependencies(of: node).isEmpty { add(node) }
    }

    private func add(_ node: Int) {
        queue.async(group: group) { [self] in
            marks.mark(node)
            for successor in graph.successors(of: node) {
                let left = unfinished[successor].wrappingSubtract(
                    1, ordering: .acquiringAndReleasing
                ).newValue
                if left == 0 { add(successor) }
            }
        }
    }
}
