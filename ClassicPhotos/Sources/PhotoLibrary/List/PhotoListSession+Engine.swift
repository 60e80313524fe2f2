import Operations
public import OperationsInsight
@_spi(ClassicPhotos) import PhotoPipeline

// What a person sees and changes of the machinery behind a page: queues, slices of time, modes.
extension PhotoListSession {
    /// The counters and the recording of a page's machinery.
    struct Engine {
        let timeline: OperationTimeline
        /// Lets one operation run at a time in naive mode.
        let single = ConcurrencyBudget(1, name: "one at a time")
        /// The last operations of the row that naive mode started last.
        var lastNaive: [Operation] = []
        /// The attempts that found their photo in a cache, and those that had to read it from its
        /// source.
        var hits = 0
        var misses = 0
        var bytesDownloaded = 0
        /// Yields to the page's stream while a person watches the machinery.
        var ticks: Task<Void, Never>?
        /// When the latest photos were finished.
        private var finishes: [ContinuousClock.Instant] = []

        static let window: Duration = .seconds(30)
        static let throughputWindow: Duration = .seconds(5)

        init(timeline: OperationTimeline?) {
            // A recording for the whole program keeps everything.
            self.timeline = timeline ?? OperationTimeline(keeping: Self.window, limit: 20_000)
        }

        /// Counts where an attempt found its photo.
        mutating func found(_ original: PhotoOriginal) {
            switch original.origin {
            case .memory, .cache:
                hits += 1
            case .network:
                misses += 1
                bytesDownloaded += original.bytes?.count ?? 0
            case .file:
                misses += 1
            }
        }

        mutating func photoFinished(at now: ContinuousClock.Instant = .now) {
            finishes.append(now)
            dropOldFinishes(at: now)
        }

        /// The photos finished in a second, on average over the latest seconds.
        mutating func throughput(at now: ContinuousClock.Instant = .now) -> Double {
            dropOldFinishes(at: now)
            return Double(finishes.count) / (Self.throughputWindow / .seconds(1))
        }

        private mutating func dropOldFinishes(at now: ContinuousClock.Instant) {
            guard let first = finishes.first, now - first > Self.throughputWindow else { return }
            finishes.removeAll { now - $0 > Self.throughputWindow }
        }
    }

    /// The state of a page's machinery.
    public struct EngineState: Sendable {
        /// The time since the recording began; the times of slices are on the same clock.
        public let now: Duration
        /// The state of the download queue, then of the filtration queue.
        public let queues: [QueueGauge]
        /// The runs of operations, ordered by start.
        public let slices: [OperationTimeline.Slice]
        /// The photos finished in a second, on average over the last 5 seconds.
        public let throughput: Double
        /// The attempts at rows whose photo was in a cache.
        public let hits: Int
        /// The attempts at rows whose photo had to be read from its source.
        public let misses: Int
        /// The size of all downloads so far.
        public let bytesDownloaded: Int
        /// Whether the page is in naive mode.
        public let isNaive: Bool
    }

    /// The state of the machinery.
    ///
    /// - Parameter time: slices that ended before are left out; at most the last 30 seconds are
    ///   returned.
    public func engineState(since time: Duration) -> EngineState {
        let now = engine.timeline.elapsed
        return EngineState(
            now: now, queues: gauges,
            slices: engine.timeline.slices(since: max(time, now - Engine.window)),
            throughput: engine.throughput(), hits: engine.hits, misses: engine.misses,
            bytesDownloaded: engine.bytesDownloaded, isNaive: controller.isNaive)
    }

    /// The recording of the last 30 seconds, or of the whole program if it records itself.
    public var timeline: OperationTimeline { engine.timeline }

    /// Whether a person watches the machinery; the stream of ``subscribe()`` then yields four times
    /// a second.
    public var isEngineWatched: Bool { engine.ticks != nil }

    /// Begins or ends the watching of the machinery.
    public func watchEngine(_ isOn: Bool) {
        guard isOn != isEngineWatched, !(isOn && controller.isClosed) else { return }
        engine.ticks?.cancel()
        engine.ticks = nil
        guard isOn else { return }
        engine.ticks = Task { [weak self] in
            while !Task.isCancelled {
                await self?.signalHeartbeat()
                try? await Task.sleep(for: .milliseconds(250))
            }
        }
    }

    /// A change that a person makes to a queue.
    public enum EngineAction: Sendable, Hashable {
        /// Start no further operation of the queue.
        case pause
        /// Continue after ``pause``.
        case resume
        /// Cancel all operations of the queue. Their rows start again when the list settles anew.
        case cancelAll
        /// Change the maximum number of simultaneous operations.
        case width(Int)
    }

    /// Changes a queue.
    ///
    /// - Parameters:
    ///   - action: the change.
    ///   - name: the name of the queue; see ``QueueGauge/name``.
    /// - Returns: false if there is no such queue.
    public func perform(_ action: EngineAction, onQueueNamed name: String) -> Bool {
        guard !controller.isClosed, let queue = pending.queues.first(where: { $0.name == name })
        else { return false }
        switch action {
        case .pause: pending.setPaused(queue, to: true)
        case .resume: pending.setPaused(queue, to: false)
        case .cancelAll: queue.cancelAllOperations()
        case .width(let width): queue.maxConcurrentOperationCount = max(1, width)
        }
        signalHeartbeat()
        return true
    }

    /// Begins or ends naive mode, in which the list works as its first version did: everything for
    /// every row in the order of the list, nothing suspended or cancelled, one operation at a time.
    ///
    /// Operations that are under way when naive mode begins keep the mode in which they began. The
    /// end of naive mode cancels its work.
    public func setNaive(_ isNaive: Bool) {
        engine.lastNaive = []
        perform(controller.naiveModeChanged(to: isNaive))
    }

    /// In naive mode, a row begins when the row that was started before it is complete.
    func chainIfNaive(_ first: Operation, last: [Operation]) {
        guard controller.isNaive else { return }
        for operation in engine.lastNaive { first.addDependency(operation) }
        engine.lastNaive = last
    }

    func limitIfNaive(_ operation: Operation) {
        if controller.isNaive { operation.apply(.cost(1, of: engine.single)) }
    }
}
