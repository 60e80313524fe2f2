import OperationsRuntime

/// A thread's own state for recording events, so that threads do not contend for shared memory.
///
/// Unchecked: only its thread accesses it.
final class ThreadTraceBuffer: @unchecked Sendable {
    /// The timeline for which the thread recorded last.
    private var timeline: UInt32 = 0
    private var buffer: Unmanaged<TimelineBuffer>?
    /// The retained buffers, by timeline.
    private var buffers: [UInt32: TimelineBuffer] = [:]

    /// Calls `body` with the thread's buffer for a timeline, unless the timeline no longer exists.
    @inline(__always)
    static func withBuffer(
        of timeline: UInt32, on thread: ThreadContext, _ body: (TimelineBuffer) -> Void
    ) {
        let reference = thread.traceBuffer ?? make(for: thread)
        reference._withUnsafeGuaranteedRef { object in
            let own = unsafeDowncast(object, to: ThreadTraceBuffer.self)
            if own.timeline != timeline { own.turn(to: timeline, on: thread) }
            own.buffer?._withUnsafeGuaranteedRef(body)
        }
    }

    @inline(never)
    private static func make(for thread: ThreadContext) -> Unmanaged<AnyObject> {
        let reference = Unmanaged<AnyObject>.passRetained(ThreadTraceBuffer())
        thread.traceBuffer = reference
        return reference
    }

    @inline(never)
    private func turn(to timeline: UInt32, on thread: ThreadContext) {
        buffers = buffers.filter { !$0.value.isOver }
        if buffers[timeline] == nil {
            buffers[timeline] = TimelineCore.find(timeline)?.makeBuffer(for: thread)
        }
        self.timeline = timeline
        buffer = buffers[timeline].map { .passUnretained($0) }
    }
}
