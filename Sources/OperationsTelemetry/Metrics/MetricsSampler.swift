#if Telemetry
import CoreMetrics
import Operations
import OperationsRuntime

/// Sets the gauges that no event changes, from time to time, for all queues of the process.
///
/// Backends that are asked (Prometheus) and backends that send by themselves (OTLP, StatsD) both
/// find the last values: swift-metrics has no call by which a backend asks for a value.
///
/// The thread of the sampler exists while there are such queues, and only this thread sets gauges.
/// So no value comes late, after the end of a queue's reports has taken it back. The thread is no
/// worker: it has to tell how many workers are blocked when all of them are.
final class MetricsSampler: Sendable {
    /// The sampler of the process.
    static let shared = MetricsSampler()

    private struct State {
        var queues: [ObjectIdentifier: SampledQueue] = [:]
        /// The queues whose reports have ended, and whose values have to be taken back.
        var ended: [SampledQueue] = []
        var isRunning = false
    }

    private let state = Locked(State())
    private let changes = Latch()

    /// Samples a queue until its reports end or it is deinitialized.
    func add(_ queue: SampledQueue) {
        let starts = state.withLock { state in
            state.queues[ObjectIdentifier(queue)] = queue
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts, !startThread(named: "Operation-gauge", { self.run() }) {
            // The next queue tries it again.
            state.withLock { $0.isRunning = false }
        }
        changes.open()
    }

    /// Takes the values of a queue back, soon.
    func remove(_ queue: SampledQueue) {
        state.withLock { state in
            if state.queues.removeValue(forKey: ObjectIdentifier(queue)) != nil {
                state.ended.append(queue)
            }
        }
        changes.open()
    }

    // MARK: The thread

    private func run() {
        var board = GaugeBoard()
        var timers: [any TimerHandler] = []
        while true {
            // Closed before the thread asks what is to be done: whoever opens the latch has said it
            // before.
            changes.close()
            let (queues, ended) = state.withLock { state in
                defer { state.ended = [] }
                return (Array(state.queues.values), state.ended)
            }
            for queue in ended { board.remove(queue) }
            sample(queues, &board)
            if !timers.elementsEqual(board.timers, by: { $0 === $1 }) {
                timers = board.timers
                measureLateness(by: timers)
            }
            guard let next = next() else { return }
            let now = monotonicNanoseconds()
            if next > now { changes.wait(nanoseconds: next - now) }
        }
    }

    /// Returns when the thread has to go on; nil if there is nothing left to do, and then it ends.
    private func next() -> UInt64? {
        state.withLock { state in
            if !state.ended.isEmpty { return 0 }
            let next = state.queues.values.map(\.due).min()
            if next == nil { state.isRunning = false }
            return next
        }
    }

    /// Samples the queues that are due, and the workers once for each backend of these queues.
    private func sample(_ queues: [SampledQueue], _ board: inout GaugeBoard) {
        let due = queues.filter { $0.due <= monotonicNanoseconds() }
        if due.isEmpty { return }
        let workers = WorkerPool.counts
        for queue in due {
            guard let sample = queue.sample() else {
                remove(queue)
                continue
            }
            board.set(sample, of: queue)
        }
        for backend in Set(due.map(\.backend.id)) { board.set(workers, in: backend) }
    }

    /// Has the lateness of the pool's timers measured by the timers of all backends.
    private func measureLateness(by timers: [any TimerHandler]) {
        if timers.isEmpty {
            WorkerPool.latenessHandler = nil
        } else {
            WorkerPool.latenessHandler = { nanoseconds in
                for timer in timers { timer.recordNanoseconds(Int64(clamping: nanoseconds)) }
            }
        }
    }
}

/// What is sampled of a queue.
struct QueueSample {
    /// How many operations may run at the same time; nil for no limit.
    var limit: Int?
    /// For how many seconds the oldest ready operation has been ready; 0 if there is none.
    var oldestAge: Double
}

/// A queue that is sampled.
///
/// Unchecked: only the thread of the sampler uses the variables. The rest is constant.
final class SampledQueue: @unchecked Sendable {
    let name: String
    let backend: MetricsBackend
    private let entry: QueueRegistry.Entry
    private let pause: UInt64
    /// When the queue is to be sampled next.
    private(set) var due: UInt64 = 0
    /// The time before which the operations are not looked at, because that takes long.
    private var nextPulse: UInt64 = 0
    private var oldestAge: UInt64 = 0

    init(
        _ queue: OperationQueue, named name: String, every interval: Duration,
        in factory: any MetricsFactory
    ) {
        self.name = name
        entry = QueueRegistry.entry(of: queue)
        pause = max(interval.limitedToLongestTime.wholeNanoseconds, 1_000_000)
        backend = MetricsBackend(factory)
        // All metrics exist from the beginning. Only a queue with a limit has that metric.
        _ = backend.age(of: name)
    }

    /// Samples the queue; nil if it does not exist any more.
    func sample() -> QueueSample? {
        guard let queue = entry.queue else { return nil }
        let now = monotonicNanoseconds()
        // Queues of the same interval are due together.
        due = (now / pause + 1) * pause
        let totals = queue.totals
        if totals.unfinished == 0 {
            oldestAge = 0
        } else if now >= nextPulse {
            oldestAge = queue.pulse(nil).oldestReady.map { now > $0 ? now - $0 : 0 } ?? 0
            // At most a twentieth of a processor, however many operations the queue holds.
            let end = monotonicNanoseconds()
            nextPulse = end + 20 * (end > now ? end - now : 0)
        }
        return QueueSample(limit: totals.width, oldestAge: Double(oldestAge) / 1e9)
    }
}
#endif
