import CoreMetrics
import Logging
import Operations
import OperationsInsight
import OperationsTelemetry

extension OperationsPeer {
    func run(_ graph: Graph) -> Duration? { run(graph, seenBy: []) }

    func run(_ graph: Graph, seenBy onlookers: Onlookers) -> Duration? {
        let marks = Marks(count: graph.count)
        let queue = OperationQueue()
        let observers = observe(queue, onlookers)
        let duration = time {
            let operations: [Operation] = (0..<graph.count).map { index in
                BlockOperation { marks.mark(index) }
            }
            for index in 0..<graph.count {
                for dependency in graph.dependencies(of: index) {
                    operations[index].addDependency(operations[dependency])
                }
            }
            queue.addOperations(operations, waitUntilFinished: false)
            queue.waitUntilAllOperationsAreFinished()
        }
        withExtendedLifetime(observers) {}
        marks.release(expecting: 1, of: .operations)
        return duration
    }

    func asynchronous(_ count: Int) -> Duration? { asynchronous(count, seenBy: []) }

    func asynchronous(_ count: Int, seenBy onlookers: Onlookers) -> Duration? {
        let marks = Marks(count: count)
        let queue = OperationQueue()
        let observers = observe(queue, onlookers)
        let duration = time {
            for index in 0..<count {
                let operation = TypedOperation<Void> {
                    await Task.yield()
                    marks.mark(index)
                }
                queue.addOperation(operation)
            }
            queue.waitUntilAllOperationsAreFinished()
        }
        withExtendedLifetime(observers) {}
        marks.release(expecting: 1, of: .operations)
        return duration
    }

    /// - Returns: what must exist for as long as the queue is observed.
    private func observe(_ queue: OperationQueue, _ onlookers: Onlookers) -> OperationTimeline? {
        let timeline = onlookers.contains(.timeline) ? OperationTimeline() : nil
        timeline?.record(queue)
        if onlookers.contains(.statistics) { queue.measuresOperations = true }
        if onlookers.contains(.logger) {
            var logger = Logger(label: "benchmark")
            logger.logLevel = .notice
            queue.reportTelemetry(logger: logger, metrics: nil, tracer: nil)
        }
        if onlookers.contains(.metrics) {
            queue.reportTelemetry(logger: nil, metrics: MetricsInMemory(), tracer: nil)
        }
        return timeline
    }
}
