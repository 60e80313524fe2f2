import Synchronization

/// A thread's own state for recording events, so that threads do not contend for shared memory.
///
/// Unchecked: only its thread accesses it.
final class ThreadTraceBuffer: @unchecked Sendable {
    private static let lastNumber = Atomic<Int>(0)

    /// Identifies the thread.
    let number = lastNumber.add(1, ordering: .relaxed).newValue
    /// The operation that the thread is about to add, if that may not be ready at once, with its
    /// mark.
    ///
    /// The mark is needed because a later operation may have the address of an earlier one.
    var lastAdded: (operation: UInt, mark: PhaseTimestamp)?
    /// The timeline for which the thread recorded last.
    private var timeline: UInt32 = 0
    private var buffer: Unmanaged<TimelineBuffer>?
    /// The retained buffers, by timeline.
    private var buffers: [UInt32: TimelineBuffer] = [:]

    /// Calls `body` with the thread's buffer for a timeline, unless the timeline no longer exists.
    @inline(__always)
    func withBuffer(of timeline: UInt32, _ body: (TimelineBuffer) -> Void) {
        if self.timeline != timeline { turn(to: timeline) }
        buffer?._withUnsafeGuaranteedRef(body)
    }

    @inline(never)
    private func turn(to timeline: UInt32) {
        buffers = buffers.filter { !$0.value.isOver }
        if buffers[timeline] == nil {
            buffers[timeline] = TimelineCore.find(timeline)?.makeBuffer(thread: number)
        }
        self.timeline = timeline
        buffer = buffers[timeline].map { .passUnretained($0) }
    }
}

extension QueueInsight {
    /// Adds an event to the timeline that records the queue, if one does.
    @inline(__always)
    func record(name: String? = nil, _ fill: (inout TimelineEvent) -> Void) {
        let recording = recording.load(ordering: .relaxed)
        guard recording != 0 else { return }
        ThreadContext.withCurrent { context in
            context.traceBuffer.withBuffer(of: UInt32(truncatingIfNeeded: recording >> 32)) {
                buffer in
                buffer.append(queue: UInt16(truncatingIfNeeded: recording), name: name, fill)
            }
        }
    }

    @inline(__always)
    func recordThread(of operation: UInt, from start: PhaseTimestamp) {
        let recording = recording.load(ordering: .relaxed)
        guard recording != 0 else { return }
        ThreadContext.withCurrent { context in
            context.traceBuffer.withBuffer(of: UInt32(truncatingIfNeeded: recording >> 32)) {
                buffer in
                buffer.begins(operation, from: start)
            }
        }
    }
}
