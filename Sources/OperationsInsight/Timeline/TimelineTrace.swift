import Operations
import OperationsRuntime

/// The recording of a timeline, put together: events of threads become the spans of operations.
struct TimelineTrace {
    struct Thread {
        let number: Int
        let name: String
        let contents: TimelineBuffer.Contents
    }

    /// A fast-path operation that was running when the trace was made.
    struct Running {
        let operation: UInt
        let thread: Int
        let queue: Int
        let name: String
        let lane: Int
        let start: UInt64
    }

    /// The operations that have not ended, which tell whether an event of an end is missing because
    /// it was dropped.
    struct Unfinished {
        var operations: Set<UInt> = []
        /// The time before which events may have been dropped.
        var oldest: UInt64
    }

    /// One operation, as far as it was recorded. Unknown times are 0.
    struct TimelineSpan {
        let operation: UInt
        var name: String
        let queue: Int
        let lane: Int
        var added: UInt64 = 0
        var ready: UInt64 = 0
        var start: UInt64 = 0
        var end: UInt64 = 0
        /// Nil while the operation runs.
        var outcome: OperationOutcome?
        var startThread: Int?
        var endThread: Int?
        /// Whether the operation continued after its thread had left it.
        var isTask = false
        var dependencies: [UInt] = []

        /// The start of the operation, or its end if it never started.
        ///
        /// At this moment no other operation has its address, so this moment orders the operations
        /// that used one address.
        var beginning: UInt64 { start > 0 ? start : end }
    }

    struct Interval {
        let span: Int?
        let queue: Int
        let from: UInt64
        let to: UInt64
    }

    struct Wait {
        let thread: Int
        let from: UInt64
        let to: UInt64
    }

    let start: UInt64
    let end: UInt64
    let limit: Int
    let queues: [String]
    let threads: [Thread]
    private(set) var spans: [TimelineSpan] = []
    /// The intervals from the addition of operations until only their queue held them back.
    private(set) var waiting: [Interval] = []
    private(set) var waits: [Wait] = []
    private(set) var dropped = 0
    /// The dependencies among operations that ran, each from the dependency to the dependent.
    private(set) var flows: [(from: Int, to: Int)] = []

    private struct Key: Hashable {
        let operation: UInt
        let start: UInt64
    }

    init(
        start: UInt64, end: UInt64, limit: Int, queues: [String], threads: [Thread],
        running: [Running], unfinished: Unfinished? = nil
    ) {
        (self.start, self.end, self.limit) = (start, end, limit)
        (self.queues, self.threads) = (queues, threads)
        let begun = gather()
        // The operation may have ended after the search for running operations.
        for running in running
        where begun[Key(operation: running.operation, start: running.start)] == nil {
            spans.append(
                TimelineSpan(
                    operation: running.operation, name: running.name, queue: running.queue,
                    lane: running.lane,
                    start: running.start, end: end, startThread: running.thread,
                    endThread: running.thread))
        }
        if let unfinished { removeEnded(unfinished) }
        connect()
    }

    /// Removes the operations whose beginning was kept and whose end was dropped. The end can be in
    /// the buffer of another thread, which drops its events at other times.
    private mutating func removeEnded(_ unfinished: Unfinished) {
        spans.removeAll { span in
            span.outcome == nil && span.start > 0 && span.start < unfinished.oldest
                && !unfinished.operations.contains(span.operation)
        }
    }

    private var raw: [(thread: Int, event: TimelineEvent)] {
        threads.flatMap { thread in thread.contents.events.map { (thread.number, $0) } }
    }

    // MARK: Gathering

    /// Builds `spans` and `waits` from the events.
    ///
    /// Returns the index in `spans` of each operation.
    private mutating func gather() -> [Key: Int] {
        var begun: [Key: Int] = [:]
        for thread in threads {
            dropped += thread.contents.dropped
            for event in thread.contents.events {
                switch event.kind {
                case .ran, .started, .startedTask, .dropped:
                    let span = Self.span(event, on: thread, until: end)
                    begun[Key(operation: span.operation, start: span.start)] = spans.count
                    spans.append(span)
                case .blocked:
                    waits.append(
                        Wait(thread: thread.number, from: event.first, to: event.second))
                case .waited, .ended, .edge: break
                }
            }
        }
        for (thread, event) in raw {
            switch event.kind {
            case .ended:
                guard let index = begun[Key(operation: event.operation, start: event.first)]
                else { continue }
                spans[index].end = event.second
                spans[index].outcome = event.outcome
                spans[index].endThread = thread
            case .edge:
                guard let index = begun[Key(operation: event.operation, start: event.first)]
                else { continue }
                spans[index].dependencies.append(event.dependency)
            case .waited, .ran, .started, .startedTask, .dropped, .blocked: break
            }
        }
        return begun
    }

    private static func span(
        _ event: TimelineEvent, on thread: Thread, until end: UInt64
    ) -> TimelineSpan {
        var span = TimelineSpan(
            operation: event.operation, name: name(of: event, on: thread), queue: Int(event.queue),
            lane: Int(event.lane), added: event.first, ready: event.second)
        if event.dependency != 0 { span.dependencies = [event.dependency] }
        switch event.kind {
        case .dropped:
            span.end = event.third
            span.outcome = event.outcome
        case .ran:
            (span.start, span.end) = (event.third, event.fourth)
            span.outcome = event.outcome
            (span.startThread, span.endThread) = (thread.number, thread.number)
        default:
            // A provisional end, until the end event is found.
            (span.start, span.end) = (event.third, max(end, event.third))
            (span.startThread, span.endThread) = (thread.number, thread.number)
            span.isTask = event.kind == .startedTask
        }
        return span
    }

    private static func name(of event: TimelineEvent, on thread: Thread) -> String {
        if event.name > 0 {
            let name = thread.contents.names[Int(event.name) - 1]
            if !name.isEmpty { return name }
        }
        if event.isBarrier { return "barrier" }
        // The event holds the address of a class, and classes are never freed.
        return event.type == 0
            ? "operation"
            : "\(unsafeBitCast(event.type, to: Operation.Type.self))"
    }

    /// The runs that had not ended at a time after the start of the timeline.
    func slices(since time: Duration) -> [OperationTimeline.Slice] {
        spans.compactMap { span -> OperationTimeline.Slice? in
            guard span.start > 0, let worker = span.startThread else { return nil }
            let end = span.outcome == nil ? nil : sinceStart(span.end)
            if let end, end < time { return nil }
            return OperationTimeline.Slice(
                name: span.name, queue: queues[span.queue], worker: worker, isTask: span.isTask,
                start: sinceStart(span.start), end: end)
        }
        .sorted { $0.start < $1.start }
    }

    private func sinceStart(_ time: UInt64) -> Duration {
        .nanoseconds(Int64(clamping: time > start ? time - start : 0))
    }

    // MARK: Connecting

    private mutating func connect() {
        var byAddress: [UInt: [Int]] = [:]
        for index in spans.indices where spans[index].operation != 0 {
            byAddress[spans[index].operation, default: []].append(index)
        }
        for (address, indices) in byAddress where indices.count > 1 {
            byAddress[address] = indices.sorted { spans[$0].beginning < spans[$1].beginning }
        }
        for (_, event) in raw where event.kind == .waited {
            // The first operation that had the address and began after the wait.
            let indices = byAddress[event.operation] ?? []
            let place = indices.partitioningIndex { spans[$0].beginning >= event.second }
            waiting.append(
                Interval(
                    span: place < indices.count ? indices[place] : nil, queue: Int(event.queue),
                    from: event.first, to: event.second))
        }
        for index in spans.indices {
            for dependency in spans[index].dependencies {
                // The last operation that had the address and began before the dependent did. The
                // dependent retained its dependency until then, so no later operation can have had
                // the address.
                let indices = byAddress[dependency] ?? []
                let place = indices.partitioningIndex {
                    spans[$0].beginning > spans[index].beginning
                }
                guard place > 0, spans[indices[place - 1]].start > 0 else { continue }
                flows.append((indices[place - 1], index))
            }
        }
    }
}
