import Dispatch
import Foundation

/// Swift's own tasks, in a discarding task group if they are independent.
///
/// Groups have no dependencies. In a graph, each task awaits the tasks that it depends on.
struct TaskGroupPeer: Contender {
    func independent(_ count: Int) -> Duration? {
        let marks = Marks(count: count)
        let duration = time {
            waitForTask {
                await withDiscardingTaskGroup { group in
                    for index in 0..<count { group.addTask { marks.mark(index) } }
                }
            }
        }
        marks.release(expecting: 1, of: .taskgroup)
        return duration
    }

    /// The start of a task cannot be delayed, so this method keeps all threads of the pool busy:
    /// one thread runs the task that adds, and each other thread runs a task that blocks.
    func bytesQueued(_ count: Int) -> Double? {
        let marks = Marks(count: count)
        let began = DispatchSemaphore(value: 0)
        let never = DispatchSemaphore(value: 0)
        let blockers = ProcessInfo.processInfo.activeProcessorCount - 1
        let result = Result()
        let measured = DispatchSemaphore(value: 0)
        for _ in 0..<blockers { block(began, never) }
        for _ in 0..<blockers { began.wait() }
        Task.detached {
            await withDiscardingTaskGroup { group in
                let before = ResidentMemory.bytes
                for index in 0..<count { group.addTask { marks.mark(index) } }
                if let before, let after = ResidentMemory.bytes {
                    result.bytes = Double(after - before) / Double(count)
                }
                measured.signal()
            }
        }
        measured.wait()
        return result.bytes
    }

    private func block(_ began: DispatchSemaphore, _ never: DispatchSemaphore) {
        Task.detached {
            let wait = { never.wait() }
            began.signal()
            wait()
        }
    }

    /// Unchecked: written before a semaphore is signaled, read afterwards.
    private final class Result: @unchecked Sendable {
        var bytes: Double?
    }

    func run(_ graph: Graph) -> Duration? {
        let marks = Marks(count: graph.count)
        let duration = time {
            waitForTask {
                var tasks: [Task<Void, Never>] = []
                tasks.reserveCapacity(graph.count)
                for node in 0..<graph.count {
                    let before = graph.dependencies(of: node).map { tasks[$0] }
                    tasks.append(
                        Task.detached {
                            for task in before { await task.value }
                            marks.mark(node)
                        })
                }
                for task in tasks { await task.value }
            }
        }
        marks.release(expecting: 1, of: .taskgroup)
        return duration
    }

    /// A cancelled task begins all the same, so these tasks check whether they are cancelled. Some
    /// tasks begin before the cancellation, because the start of a task cannot be delayed.
    func cancelled(_ count: Int) -> Duration? {
        let marks = Marks(count: count)
        let duration = time {
            waitForTask {
                await withDiscardingTaskGroup { group in
                    for index in 0..<count {
                        group.addTask { if !Task.isCancelled { marks.mark(index) } }
                    }
                    group.cancelAll()
                }
            }
        }
        marks.release()
        return duration
    }

    func latencies(_ count: Int) -> [Duration]? {
        Latency.measure(count) { block in Task.detached { block() } }
    }

    func blocking(_ count: Int, milliseconds: Int) -> Duration? {
        time {
            waitForTask {
                await withDiscardingTaskGroup { group in
                    for _ in 0..<count {
                        group.addTask { Threads.pause(milliseconds: milliseconds) }
                    }
                }
            }
        }
    }

    func typedChain(_ count: Int) -> Duration? { asyncChain(count) }

    /// Tasks support only async functions, so this is the usual chain of results with tasks.
    func asyncChain(_ count: Int) -> Duration? {
        time {
            waitForTask {
                var latest = Task { 0 }
                for _ in 0..<count {
                    latest = Task { [latest] in await latest.value + 1 }
                }
                let last = await latest.value
                precondition(last == count)
            }
        }
    }

    func asynchronous(_ count: Int) -> Duration? {
        let marks = Marks(count: count)
        let duration = time {
            waitForTask {
                await withDiscardingTaskGroup { group in
                    for index in 0..<count {
                        group.addTask {
                            await Task.yield()
                            marks.mark(index)
                        }
                    }
                }
            }
        }
        marks.release(expecting: 1, of: .taskgroup)
        return duration
    }

    func resumed(_ count: Int) -> Duration? {
        let (marks, resumer) = (Marks(count: count), Resumer(count: count))
        let duration = time {
            waitForTask {
                await withDiscardingTaskGroup { group in
                    for index in 0..<count {
                        group.addTask {
                            await resumer.pause()
                            marks.mark(index)
                        }
                    }
                }
            }
        }
        marks.release(expecting: 1, of: .taskgroup)
        return duration
    }

    func hops(_ hop: Hop, _ count: Int) -> Duration? {
        guard hop != .blocking else { return nil }
        let marks = Marks(count: count)
        let (first, second) = (Counter(marks), Counter(marks))
        let duration = time {
            waitForTask {
                switch hop {
                case .queue: await first.call(second, count)
                case .actor: for index in 0..<count { await first.mark(index) }
                case .blocking: break
                }
            }
        }
        marks.release(expecting: 1, of: .taskgroup)
        return duration
    }

    private actor Counter {
        private let marks: Marks

        init(_ marks: Marks) { self.marks = marks }

        func mark(_ index: Int) { marks.mark(index) }

        /// Calls another actor, so many times.
        func call(_ other: Counter, _ count: Int) async {
            for index in 0..<count { await other.mark(index) }
        }
    }
}
