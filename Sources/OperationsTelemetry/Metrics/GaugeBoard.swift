#if Telemetry
import CoreMetrics
import OperationsRuntime

/// A metrics factory, and the metrics of the process in it.
///
/// Several queues report to one backend, and the metrics of the process exist once in it. So
/// backends are compared: a factory that is an object by its identity, and another one, like that
/// of swift-prometheus, by the identity of a metric, which a factory makes once for each name.
final class MetricsBackend: Sendable {
    /// Keeps the object alive that it identifies, so that no other one gets its address.
    struct ID: Hashable, @unchecked Sendable {
        private let object: AnyObject

        fileprivate init(_ object: AnyObject) { self.object = object }

        static func == (a: ID, b: ID) -> Bool { a.object === b.object }

        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(object)) }
    }

    let factory: any MetricsFactory
    let id: ID
    private let workers: [(state: WorkerState, meter: any MeterHandler)]
    private let workerLimit: any MeterHandler
    /// Measures by how much timers are late.
    let lateness: any TimerHandler

    private enum WorkerState: String, CaseIterable {
        case active
        case blocked
        case idle
    }

    init(_ factory: any MetricsFactory) {
        self.factory = factory
        workers = WorkerState.allCases.map { state in
            let dimensions = [("worker.state", state.rawValue)]
            return (state, factory.makeMeter(label: "operations.workers", dimensions: dimensions))
        }
        workerLimit = factory.makeMeter(label: "operations.workers.limit", dimensions: [])
        lateness = factory.makeTimer(label: "operations.timers.late.duration", dimensions: [])
        lateness.preferDisplayUnit(.seconds)
        let isObject = type(of: factory as Any) is AnyClass
        id = ID(isObject ? factory as AnyObject : workerLimit)
    }

    func set(_ counts: WorkerCounts) {
        for (state, meter) in workers {
            let count =
                switch state {
                case .active: counts.active
                case .blocked: counts.blocked
                case .idle: counts.idle
                }
            meter.set(Int64(count))
        }
        workerLimit.set(Int64(counts.limit))
    }

    /// The age of the oldest ready operation of the queues of one name.
    func age(of queue: String) -> any MeterHandler {
        factory.makeMeter(
            label: "operations.oldest.age", dimensions: [("operation.queue", queue)])
    }

    /// The limit of the queues of one name.
    func limit(of queue: String) -> any MeterHandler {
        factory.makeMeter(label: "operations.limit", dimensions: [("operation.queue", queue)])
    }
}

/// The last samples of all queues, and the gauges that show them: one for the queues of one name in
/// one backend. For a single thread.
struct GaugeBoard {
    private struct Key: Hashable {
        let backend: MetricsBackend.ID
        let name: String
    }

    /// The queues of one name.
    private struct Group {
        let backend: MetricsBackend
        let name: String
        let age: any MeterHandler
        /// Nil while a queue of the name has no limit.
        var limit: (any MeterHandler)?
        var samples: [ObjectIdentifier: QueueSample] = [:]

        init(_ backend: MetricsBackend, _ name: String) {
            (self.backend, self.name) = (backend, name)
            age = backend.age(of: name)
        }

        /// Sets the gauges: to the age of the oldest of all operations, and to the sum of the
        /// limits, as other gauges of queues with the same name add up.
        mutating func publish() {
            age.set(samples.values.map(\.oldestAge).max() ?? 0)
            let limits = samples.values.compactMap(\.limit)
            if !limits.isEmpty, limits.count == samples.count {
                let meter = limit ?? backend.limit(of: name)
                limit = meter
                meter.set(Int64(limits.reduce(0, +)))
            } else if let meter = limit.take() {
                // No number says "no limit".
                backend.factory.destroyMeter(meter)
            }
        }
    }

    private var groups: [Key: Group] = [:]
    /// The backends that queues report to, and how many queues.
    private var backends: [MetricsBackend.ID: (backend: MetricsBackend, queues: Int)] = [:]

    /// The timers that measure the lateness of timers.
    var timers: [any TimerHandler] { backends.values.map(\.backend.lateness) }

    mutating func set(_ sample: QueueSample, of queue: SampledQueue) {
        let key = Key(backend: queue.backend.id, name: queue.name)
        var group = groups[key] ?? Group(queue.backend, queue.name)
        if group.samples.updateValue(sample, forKey: ObjectIdentifier(queue)) == nil {
            backends[key.backend, default: (queue.backend, 0)].queues += 1
        }
        group.publish()
        groups[key] = group
    }

    mutating func set(_ counts: WorkerCounts, in backend: MetricsBackend.ID) {
        backends[backend]?.backend.set(counts)
    }

    /// Takes the values of a queue back, and those of its backend if no other queue reports to it.
    mutating func remove(_ queue: SampledQueue) {
        let key = Key(backend: queue.backend.id, name: queue.name)
        guard var group = groups[key],
            group.samples.removeValue(forKey: ObjectIdentifier(queue)) != nil
        else { return }
        group.publish()
        groups[key] = group.samples.isEmpty ? nil : group
        guard let (backend, queues) = backends[key.backend] else { return }
        backends[key.backend] = queues > 1 ? (backend, queues - 1) : nil
        if queues == 1 { backend.set(.none) }
    }
}
#endif
