public import Operations
import OperationsRuntime
import Synchronization

/// A recording of what queues did and when, to be viewed as a picture.
///
/// ```swift
/// let timeline = OperationTimeline()
/// timeline.record(queue)
/// …
/// try timeline.write(to: "run.json")    // open it at ui.perfetto.dev
/// ```
///
/// The recording shows what each thread ran, how long operations waited and were ready, where
/// threads were blocked, and which operation waited for which. The recording ends with ``stop()``,
/// or when the timeline is released. See <doc:OperationsInsight>.
///
/// Every method can be called from any thread.
public final class OperationTimeline: Sendable {
    private let core: TimelineCore

    /// Makes a timeline that records nothing yet.
    ///
    /// - Parameter limit: how many events the timeline keeps, of 64 bytes each. An operation is
    ///   usually one event, and up to four with dependencies and waits. When the limit is reached,
    ///   later events are dropped, and the trace says how many.
    /// - Precondition: the limit is not negative.
    public convenience init(limit: Int = 1_000_000) {
        self.init(limit: limit, window: nil)
    }

    /// Makes a timeline that keeps only the latest events, for programs that run for long.
    ///
    /// - Parameters:
    ///   - window: how long an event is kept at least. Threads drop older events in groups of up to
    ///     512, so some older events remain.
    ///   - limit: how many events the timeline keeps, of 64 bytes each. If more happen within the
    ///     window, the latest are dropped.
    /// - Precondition: neither value is negative.
    public convenience init(keeping window: Duration, limit: Int = 100_000) {
        if window < .zero { misuse("an OperationTimeline cannot keep events for \(window)") }
        // A century is as good as forever, and its nanoseconds fit into 64 bits.
        let (seconds, attoseconds) = min(window, .seconds(3_155_760_000)).components
        self.init(
            limit: limit,
            window: UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000))
    }

    private init(limit: Int, window: UInt64?) {
        if limit < 0 {
            misuse(
                "an OperationTimeline cannot keep \(limit) events: give it a limit of 0 or more")
        }
        core = TimelineCore(limit: limit, window: window)
    }

    deinit { core.stop() }

    /// Records what happens in a queue from now on.
    ///
    /// A queue is recorded by one timeline at a time: recording it here ends its recording by
    /// another timeline. Operations that already run are not shown; those that wait count as added,
    /// or ready, now. The timeline does not retain the queue. After ``stop()`` this call changes
    /// nothing.
    public func record(_ queue: OperationQueue) { core.record(queue) }

    /// Ends the recording of all queues. Operations that run are shown up to this moment.
    public func stop() { core.stop() }

    /// The number of events recorded.
    public var eventCount: Int { core.eventCounts.kept }

    /// The number of events dropped because the limit was reached.
    public var droppedEventCount: Int { core.eventCounts.dropped }

    /// The time since the timeline was made; until ``stop()``, if that was called.
    public var elapsed: Duration { core.elapsed }

    /// One run of an operation, as a slice of time on the thread that began it.
    public struct Slice: Sendable, Hashable {
        /// The operation's name, or its class.
        public let name: String
        /// The label of the queue.
        public let queue: String
        /// The number of the thread that began the operation.
        public let worker: Int
        /// Whether the operation is a task that may have left the thread before it ended.
        public let isTask: Bool
        /// The time from the beginning of the timeline to the beginning of the run.
        public let start: Duration
        /// The time from the beginning of the timeline to the end of the run; nil while it runs.
        public let end: Duration?
    }

    /// Returns the runs that had not ended at the given time of the timeline, ordered by start.
    ///
    /// This method can be called while the recording continues.
    ///
    /// - Parameter time: a time of the timeline; see ``elapsed``.
    /// - Complexity: O(n log n) in the number of events kept.
    public func slices(since time: Duration = .zero) -> [Slice] {
        core.trace().slices(since: time)
    }

    /// Returns the recording as JSON in Chrome's trace format, which Perfetto and Chrome open.
    ///
    /// This method can be called while the recording continues: operations that run then last until
    /// now. For long recordings ``write(to:)`` needs less memory.
    ///
    /// - Complexity: O(n log n).
    public func chromeTrace() -> String {
        var bytes: [UInt8] = []
        ChromeTrace(core.trace()).write { bytes += $0 }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Writes the recording to a file, which appears at `path` complete or not at all.
    ///
    /// A path that ends in `.html` gets a page that shows the timeline in any browser, also without
    /// a network. Any other path gets ``chromeTrace()``.
    ///
    /// - Throws: ``WriteError``.
    public func write(to path: String) throws(WriteError) {
        do {
            let file = try ReplacedFile(path)
            let trace = core.trace()
            let append = { (bytes: [UInt8]) throws(SystemError) in try file.append(bytes) }
            if TimelinePage.isMeant(by: path) {
                try TimelinePage(trace).write(append)
            } else {
                try ChromeTrace(trace).write(append)
            }
            try file.putInPlace()
        } catch {
            throw WriteError(path: path, reason: error.reason)
        }
    }

    /// Why a timeline could not be written.
    public struct WriteError: Error, Sendable, CustomStringConvertible {
        /// The path of the file.
        public let path: String
        /// The system's error message.
        public let reason: String

        /// A message that describes the error.
        public var description: String {
            "the timeline could not be written to '\(path)': \(reason). Choose a file in a folder that "
                + "exists and can be written to"
        }
    }
}

/// The part of a timeline that all recording threads share.
final class TimelineCore: Sendable {
    private struct RecordedQueue {
        let entry: QueueRegistry.Entry
        /// The queue's label when it was last read.
        var label: String
    }

    private struct State {
        var queues: [RecordedQueue] = []
        var buffers: [TimelineBuffer] = []
        var end: UInt64?
        /// The operations that were running at the end.
        var running: [TimelineTrace.Running] = []
    }

    private static let lastNumber = Atomic<UInt32>(0)
    private static let all = Locked<[UInt32: Reference]>([:])

    private struct Reference: Sendable {
        weak var core: TimelineCore?
    }

    private let number = TimelineCore.lastNumber.add(1, ordering: .relaxed).newValue
    private let start = monotonicNanoseconds()
    private let limit: Int
    /// How long events are kept, in nanoseconds; nil for ever.
    private let window: UInt64?
    private let budget: TimelineBudget
    private let state = Locked(State())

    init(limit: Int, window: UInt64?) {
        self.limit = limit
        self.window = window
        budget = TimelineBudget(limit)
        Self.all.withLock { $0[number] = Reference(core: self) }
    }

    deinit {
        Self.all.withLock { $0[number] = nil }
        // Threads retain their buffers until they record for another timeline.
        for buffer in state.withLock({ $0.buffers }) { buffer.discard() }
    }

    static func find(_ number: UInt32) -> TimelineCore? { all.withLock { $0[number]?.core } }

    func makeBuffer(for thread: ThreadContext) -> TimelineBuffer {
        let buffer = TimelineBuffer(
            thread: thread.number, name: thread.displayName, budget: budget, window: window)
        state.withLock { state in
            state.buffers.append(buffer)
            if state.end != nil { buffer.close() }
        }
        return buffer
    }

    // MARK: Recording

    func record(_ queue: OperationQueue) {
        let entry = QueueRegistry.entry(of: queue)
        let label = queue.label
        let index: Int? = state.withLock { state in
            guard state.end == nil else { return nil }
            if let index = state.queues.firstIndex(where: { $0.entry == entry }) { return index }
            guard state.queues.count <= Int(UInt16.max) else { return nil }
            state.queues.append(RecordedQueue(entry: entry, label: label))
            return state.queues.count - 1
        }
        guard let index else { return }
        queue.observer { QueueRecording() }.timeline.store(
            UInt64(number) << 32 | UInt64(index), ordering: .relaxed)
        queue.beginEvents(for: .timeline)
        // If `stop()` ran meanwhile, it did not find the queue recorded yet.
        if state.withLock({ $0.end != nil }) { leave(queue) }
    }

    private func leave(_ queue: OperationQueue) {
        guard let recording = queue.existingObserver(QueueRecording.self) else { return }
        let current = recording.timeline.load(ordering: .relaxed)
        guard current >> 32 == UInt64(number) else { return }
        let isOurs = recording.timeline.compareExchange(
            expected: current, desired: 0, ordering: .acquiringAndReleasing
        ).exchanged
        guard isOurs else { return }
        // Another timeline may have begun to record the queue meanwhile.
        queue.endEvents(for: .timeline) { recording.timeline.load(ordering: .acquiring) != 0 }
    }

    func stop() {
        let now = monotonicNanoseconds()
        let isFirst = state.withLock { state in
            guard state.end == nil else { return false }
            state.end = now
            return true
        }
        guard isFirst else { return }
        let running = runningNow()
        let (queues, buffers) = state.withLock { state in
            state.running = running
            return (state.queues, state.buffers)
        }
        for buffer in buffers { buffer.close() }
        for recorded in queues { recorded.entry.queue.map(leave) }
    }

    // MARK: Reading

    var eventCounts: (kept: Int, dropped: Int) {
        state.withLock { $0.buffers }.map(\.counts)
            .reduce((0, 0)) { ($0.0 + $1.kept, $0.1 + $1.dropped) }
    }

    var elapsed: Duration {
        let end = state.withLock { $0.end } ?? monotonicNanoseconds()
        return .nanoseconds(Int64(clamping: end - start))
    }

    /// Returns everything recorded so far.
    func trace() -> TimelineTrace {
        if window != nil {
            // A thread that records no more does not drop its own events.
            for buffer in state.withLock({ $0.buffers }) { buffer.dropOld() }
        }
        let isOver = state.withLock { $0.end } != nil
        // These come before the events: an operation that ends in between has an event of its end.
        let runningNow = isOver ? [] : runningNow()
        let unfinished = isOver ? nil : unfinished()
        let state = state.withLock { state in
            (queues: state.queues, buffers: state.buffers, end: state.end, running: state.running)
        }
        return TimelineTrace(
            start: start, end: state.end ?? monotonicNanoseconds(), limit: limit,
            queues: state.queues.map(\.label),
            threads: state.buffers.map {
                TimelineTrace.Thread(
                    number: $0.thread, name: $0.threadName, contents: $0.contents)
            },
            running: state.end == nil ? runningNow : state.running, unfinished: unfinished)
    }

    /// Returns the unfinished operations; nil if events are kept for ever.
    private func unfinished() -> TimelineTrace.Unfinished? {
        guard let window else { return nil }
        let now = monotonicNanoseconds()
        var unfinished = TimelineTrace.Unfinished(oldest: now > window ? now - window : 0)
        for recorded in state.withLock({ $0.queues }) {
            for operation in recorded.entry.queue?.unfinished ?? [] {
                unfinished.operations.insert(operation.identity)
            }
        }
        return unfinished
    }

    /// Returns the running fast-path operations, which have no event yet.
    private func runningNow() -> [TimelineTrace.Running] {
        let (queues, buffers) = state.withLock { ($0.queues, $0.buffers) }
        var found: [TimelineTrace.Running] = []
        for (index, recorded) in queues.enumerated() {
            guard let queue = recorded.entry.queue else { continue }
            let label = queue.label
            state.withLock { $0.queues[index].label = label }
            for operation in queue.unfinished {
                guard let (start, lane) = operation.startInClaim else { continue }
                // Otherwise the operation began before the recording did.
                guard
                    let buffer = buffers.first(where: {
                        $0.runs(operation.identity, since: start)
                    })
                else { continue }
                found.append(
                    TimelineTrace.Running(
                        operation: operation.identity, thread: buffer.thread, queue: index,
                        name: operation.displayName, lane: lane, start: start))
            }
        }
        return found
    }
}
