import Operations

/// An actor whose code may block.
private actor WorkerActor {
    private nonisolated let executor = SerialWorkerExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private let marks: Marks

    init(_ marks: Marks) { self.marks = marks }

    func mark(_ index: Int) { marks.mark(index) }
}

extension OperationsPeer {
    func hops(_ hop: Hop, _ count: Int) -> Duration? {
        let marks = Marks(count: count)
        let (queue, actor) = (OperationQueue(), WorkerActor(marks))
        let duration = time {
            waitForTask {
                switch hop {
                case .queue:
                    for index in 0..<count {
                        await withTaskExecutorPreference(queue.executor) { marks.mark(index) }
                    }
                case .actor:
                    for index in 0..<count { await actor.mark(index) }
                case .blocking:
                    for index in 0..<count { await Operations.blocking { marks.mark(index) } }
                }
            }
        }
        marks.release(expecting: 1, of: .operations)
        return duration
    }
}
