import Synchronization

/// What a thread keeps to note what happens to operations, so that threads do not meet in one place.
///
/// Unchecked: only touched by its thread.
final class ThreadTraceBuffer: @unchecked Sendable {
    private static let lastNumber = Atomic<Int>(0)

    /// Tells threads apart.
    let number = lastNumber.add(1, ordering: .relaxed).newValue
    /// What it is about to add, if that may not be ready at once, and how that was marked: a later operation
    /// may have the place in memory of an earlier one.
    var lastAdded: (operation: UInt, mark: PhaseTimestamp)?
    /// The last timeline for which the thread noted something.
    private var timeline: UInt32 = 0
    private var buffer: Unmanaged<TimelineBuffer>?
    /// Keeps them.
    private var buffers: [UInt32: TimelineBuffer] = [:]

    /// The thread's events of a timeline; nil if that is gone.
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
            context.notes.withBuffer(of: UInt32(truncatingIfNeeded: recording >> 32)) { buffer in
                buffer.append(queue: UInt16(truncatingIfNeeded: recording), name: name, fill)
            }
        }
    }

    @inline(__always)
    func recordThread(of operation: UInt, from start: PhaseTimestamp) {
        let recording = recording.load(ordering: .relaxed)
        guard recording != 0 else { return }
        ThreadContext.withCurrent { context in
            context.notes.withBuffer(of: UInt32(truncatingIfNeeded: recording >> 32)) { buffer in
                buffer.begins(operation, from: start)
            }
        }
    }
}
