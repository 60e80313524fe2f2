#if DurableJobs && Telemetry
import CoreMetrics
import OperationsRuntime
import DurableJobs
import Operations

/// The metrics of a queue.
///
/// All metrics are made at once, so that a backend has a zero for events that have not happened
/// yet; those of the jobs of one name when the name is first seen. They are kept, because another
/// queue object of the same name may use the same metrics.
final class JobMetrics: Sendable {
    private let factory: any MetricsFactory
    private let queue: String
    private let nameLimit: Int
    private let exchanges: CoreMetrics.Timer
    private let claimed: Counter
    private let committed: Counter
    private let rescued: Counter
    private let lostLeases: Counter
    private let lateHeartbeats: CoreMetrics.Timer
    private let storeFailures: Counter
    private let depth: [(state: JobState, meter: Meter)]
    private let oldestAge: Meter
    /// The metrics of jobs with names beyond the limit of names.
    private let others: NamedJobMetrics
    private let byName = Locked<[String: NamedJobMetrics]>([:])

    init(queue: String, nameLimit: Int, in factory: any MetricsFactory) {
        (self.factory, self.queue, self.nameLimit) = (factory, queue, nameLimit)
        let maker = MetricMaker(factory: factory, dimensions: [("job.queue", queue)])
        exchanges = maker.timer("jobs.exchange.duration")
        claimed = maker.counter("jobs.claimed")
        committed = maker.counter("jobs.committed")
        rescued = maker.counter("jobs.rescued")
        lostLeases = maker.counter("jobs.leases.lost")
        lateHeartbeats = maker.timer("jobs.heartbeats.late.duration")
        storeFailures = maker.counter("jobs.store.failures")
        depth = JobState.allCases.filter { !$0.isEnded }.map { state in
            (state, maker.meter("jobs.depth", [("job.state", "\(state)")]))
        }
        oldestAge = maker.meter("jobs.oldest.age")
        others = NamedJobMetrics("other", maker)
    }

    func metrics(of name: String) -> NamedJobMetrics {
        let (known, isFull) = byName.withLock { ($0[name], $0.count >= nameLimit) }
        if let known { return known }
        if isFull { return others }
        let maker = MetricMaker(factory: factory, dimensions: [("job.queue", queue)])
        let new = NamedJobMetrics(name, maker)
        return byName.withLock { byName in
            // Other threads may have added new names meanwhile.
            if let known = byName[name] { return known }
            guard byName.count < nameLimit else { return others }
            byName[name] = new
            return new
        }
    }

    func report(_ event: JobWorkerEvent) {
        switch event {
        case .exchanged(let committed, let claimed, let duration):
            exchanges.record(duration)
            self.committed.increment(by: committed)
            self.claimed.increment(by: claimed)
        case .started(_, let name, let attempt, let wait):
            metrics(of: name).attemptStarted(wait: attempt == 1 ? wait : nil)
        case .ended(_, let name, _, let state, _): metrics(of: name).attemptCommitted(state)
        case .fenced(_, let name, _): metrics(of: name).attemptFenced()
        case .rescued(let count): rescued.increment(by: count)
        case .leaseLost: lostLeases.increment()
        case .heartbeatLate(let time): lateHeartbeats.record(time)
        case .storeFailed: storeFailures.increment()
        case .storeRecovered, .unreadableSchedule: break
        }
    }

    func set(_ sample: QueueDepth) {
        for (state, meter) in depth { meter.set(sample.counts[state] ?? 0) }
        oldestAge.set((sample.oldestAge ?? .zero) / .seconds(1))
    }
}

/// The metrics of the jobs of one name.
final class NamedJobMetrics: Sendable {
    /// The states in which an attempt can leave its job.
    private static let states: [JobState] = [
        .completed, .retryable, .cancelled, .discarded, .available,
    ]

    private let started: Counter
    private let waiting: CoreMetrics.Timer
    private let fenced: Counter
    private let ended: [JobState: Counter]
    private let running: [JobState: CoreMetrics.Timer]

    init(_ name: String, _ maker: MetricMaker) {
        let name = [("job.name", name)]
        started = maker.counter("jobs.started", name)
        waiting = maker.timer("jobs.waiting.duration", name)
        fenced = maker.counter("jobs.fenced", name)
        ended = Dictionary(
            uniqueKeysWithValues: Self.states.map { state in
                (state, maker.counter("jobs.ended", name + [("job.state", "\(state)")]))
            })
        running = Dictionary(
            uniqueKeysWithValues: Self.states.map { state in
                (state, maker.timer("jobs.running.duration", name + [("job.state", "\(state)")]))
            })
    }

    /// - Parameter wait: the time since the job was enqueued; nil for another attempt.
    func attemptStarted(wait: Duration?) {
        started.increment()
        if let wait { waiting.record(wait) }
    }

    func attemptEnded(_ state: JobState, running time: Duration) { running[state]?.record(time) }

    func attemptCommitted(_ state: JobState) { ended[state]?.increment() }

    func attemptFenced() { fenced.increment() }
}

/// Makes metrics that have some dimensions in common.
struct MetricMaker {
    let factory: any MetricsFactory
    let dimensions: [(String, String)]

    func counter(_ label: String, _ more: [(String, String)] = []) -> Counter {
        Counter(label: label, dimensions: dimensions + more, factory: factory)
    }

    func meter(_ label: String, _ more: [(String, String)] = []) -> Meter {
        Meter(label: label, dimensions: dimensions + more, factory: factory)
    }

    func timer(_ label: String, _ more: [(String, String)] = []) -> CoreMetrics.Timer {
        CoreMetrics.Timer(
            label: label, dimensions: dimensions + more, preferredDisplayUnit: .seconds,
            factory: factory)
    }
}

extension CoreMetrics.Timer {
    fileprivate func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
#endif
