import Operations

/// Writes a timeline in Chrome's trace format.
///
/// Running operations appear on the tracks of threads, which ``TimelineTracks`` assigns. Waiting
/// operations appear on asynchronous tracks of their queue, where any number can wait at the same
/// time. Times are microseconds since the recording began. Source of the format: "Trace Event
/// Format", the Chromium project.
///
/// The writer emits no `displayTimeUnit`: older versions of Perfetto take it for the unit of the
/// times.
struct ChromeTrace {
    private static let portion = 1 << 16
    /// The least time, in nanoseconds, for which an operation is shown as ready.
    private static let leastReadyTime: UInt64 = 1_000

    private let trace: TimelineTrace
    private let tracks: TimelineTracks

    init(_ trace: TimelineTrace) {
        self.trace = trace
        tracks = TimelineTracks(trace)
    }

    /// - Parameter sink: receives the text in portions.
    func write<Failure: Error>(
        _ sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        var json = JSONText()
        json.open("{")
        json.key("otherData")
        json.open("{")
        json.field("clock", "monotonic")
        json.field("eventLimit", "\(trace.limit)")
        json.field("droppedEvents", "\(trace.dropped)")
        json.close("}")
        json.key("traceEvents")
        json.open("[")
        for process in tracks.processes {
            writeNames(of: process, &json)
            for track in process.tracks {
                write(track, of: process, &json)
                try flush(&json, sink, isLast: false)
            }
        }
        var number = 0
        for span in trace.spans {
            writeTimeBefore(span, &number, &json)
            try flush(&json, sink, isLast: false)
        }
        for interval in trace.waiting {
            let name = interval.span.map { trace.spans[$0].name }
            writeInterval(
                "waiting", of: name, in: interval.queue, from: interval.from, to: interval.to,
                &number, &json)
            try flush(&json, sink, isLast: false)
        }
        for flow in trace.flows {
            number += 1
            writeFlow(flow, number: number, &json)
            try flush(&json, sink, isLast: false)
        }
        writeDropped(&json)
        json.close("]")
        json.close("}")
        json.newline()
        try flush(&json, sink, isLast: true)
    }

    private func flush<Failure: Error>(
        _ json: inout JSONText, _ sink: ([UInt8]) throws(Failure) -> Void, isLast: Bool
    ) throws(Failure) {
        guard isLast || json.bytes.count > Self.portion else { return }
        try sink(json.bytes)
        json.bytes.removeAll(keepingCapacity: true)
    }

    // MARK: Names

    private func writeNames(of process: TimelineTracks.Process, _ json: inout JSONText) {
        // Processes are numbered in display order.
        let number = process.number
        writeMetadata("process_name", process: number, thread: nil, &json) {
            $0.field("name", process.name)
        }
        writeMetadata("process_sort_index", process: number, thread: nil, &json) {
            $0.field("sort_index", number)
        }
        for track in process.tracks {
            writeMetadata("thread_name", process: number, thread: track.number, &json) {
                $0.field("name", track.name)
            }
            writeMetadata("thread_sort_index", process: number, thread: track.number, &json) {
                $0.field("sort_index", track.number)
            }
        }
    }

    private func writeMetadata(
        _ kind: String, process: Int, thread: Int?, _ json: inout JSONText,
        argument: (inout JSONText) -> Void
    ) {
        begin("M", kind, process: process, thread: thread, time: nil, &json)
        json.key("args")
        json.open("{")
        argument(&json)
        json.close("}")
        json.close("}")
    }

    // MARK: Running

    /// Writes the slices of one track.
    ///
    /// An outermost slice becomes one complete event. A nested slice becomes a begin event and an
    /// end event: viewers that read events in time order would otherwise attach an arrow that
    /// leaves the end of the outer slice to the nested slice.
    private func write(
        _ track: TimelineTracks.Track, of process: TimelineTracks.Process, _ json: inout JSONText
    ) {
        var open: [TimelineTracks.Slice] = []
        func close(until time: UInt64) {
            while let last = open.last, last.to <= time {
                open.removeLast()
                guard !open.isEmpty else { return }
                begin(
                    "E", name(of: last), process: process.number, thread: track.number,
                    time: last.to, &json)
                json.close("}")
            }
        }
        for slice in track.slices {
            close(until: slice.from)
            begin(
                open.isEmpty ? "X" : "B", name(of: slice), process: process.number,
                thread: track.number, time: slice.from, &json)
            json.field("cat", slice.span == nil ? "blocked" : "operation")
            if open.isEmpty {
                json.key("dur")
                json.microseconds(slice.to - slice.from)
            }
            if let span = slice.span { writeArguments(of: trace.spans[span], &json) }
            json.close("}")
            open.append(slice)
        }
        close(until: .max)
    }

    private func name(of slice: TimelineTracks.Slice) -> String {
        slice.span.map { trace.spans[$0].name } ?? "blocked"
    }

    private func writeArguments(of span: TimelineTrace.TimelineSpan, _ json: inout JSONText) {
        json.key("args")
        json.open("{")
        json.field("queue", trace.queues[span.queue])
        // What holds for nearly all operations is left out.
        let priority = Operation.QueuePriority(lane: span.lane)
        if priority != .normal { json.field("priority", priority.text) }
        if span.outcome != .finished {
            json.field("outcome", span.outcome.map { "\($0.text)" } ?? "running")
        }
        if span.ready > 0 {
            json.key("ready for µs")
            json.microseconds(span.beginning.distance(from: span.ready))
        }
        json.close("}")
    }

    // MARK: Waiting

    private func writeTimeBefore(
        _ span: TimelineTrace.TimelineSpan, _ number: inout Int, _ json: inout JSONText
    ) {
        if span.ready > 0 {
            // A time that no picture shows would be half of what the file says of the operation.
            guard span.beginning.distance(from: span.ready) >= Self.leastReadyTime else { return }
            writeInterval(
                "ready", of: span.name, in: span.queue, from: span.ready, to: span.beginning,
                &number, &json)
        } else if span.added > 0 {
            writeInterval(
                "waiting", of: span.name, in: span.queue, from: span.added, to: span.beginning,
                &number, &json)
        }
    }

    private func writeInterval(
        _ kind: String, of name: String?, in queue: Int, from: UInt64, to: UInt64,
        _ number: inout Int, _ json: inout JSONText
    ) {
        number += 1
        let process = tracks.queues[queue].number
        for (phase, time) in [("b", from), ("e", max(from, to))] {
            begin(phase, kind, process: process, thread: process, time: time, &json)
            json.field("cat", kind)
            // Perfetto shows an asynchronous track outside of every process unless its id is local
            // to the process.
            json.key("id2")
            json.open("{")
            json.field("local", "\(number)")
            json.close("}")
            if phase == "b", let name {
                json.key("args")
                json.open("{")
                json.field("operation", name)
                json.close("}")
            }
            json.close("}")
        }
    }

    // MARK: Arrows

    private func writeFlow(_ flow: (from: Int, to: Int), number: Int, _ json: inout JSONText) {
        guard let from = tracks.places[flow.from], let to = tracks.places[flow.to] else { return }
        let (dependency, dependent) = (trace.spans[flow.from], trace.spans[flow.to])
        // The end of a slice does not belong to the slice.
        let end = dependency.end > dependency.start ? dependency.end - 1 : dependency.end
        for (phase, place, time) in [("s", from, end), ("f", to, dependent.start)] {
            begin(
                phase, "dependency", process: place.process, thread: place.track, time: time, &json)
            json.field("cat", "dependency")
            json.field("id", number)
            // The arrow leads to the slice that begins at its end, not to the slice after that.
            if phase == "f" { json.field("bp", "e") }
            json.close("}")
        }
    }

    private func writeDropped(_ json: inout JSONText) {
        guard trace.dropped > 0 else { return }
        begin(
            "i", "\(trace.dropped) events were dropped: the timeline's limit is \(trace.limit)",
            process: tracks.program.number, thread: nil, time: trace.end, &json)
        json.field("s", "g")
        json.close("}")
    }

    // MARK: Parts

    private func begin(
        _ phase: String, _ name: String, process: Int, thread: Int?, time: UInt64?,
        _ json: inout JSONText
    ) {
        json.newline()
        json.open("{")
        json.field("ph", phase)
        json.field("name", name)
        json.field("pid", process)
        json.field("tid", thread ?? process)
        if let time {
            json.key("ts")
            json.microseconds(time.distance(from: trace.start))
        }
    }
}

extension UInt64 {
    /// Returns the time from `start` to this time; 0 if this time is before `start`.
    fileprivate func distance(from start: UInt64) -> UInt64 { self > start ? self - start : 0 }
}

extension Operation.QueuePriority {
    var text: String {
        switch self {
        case .veryLow: "veryLow"
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        case .veryHigh: "veryHigh"
        }
    }
}

extension OperationOutcome {
    var text: StaticString {
        switch self {
        case .finished: "finished"
        case .cancelled: "cancelled"
        case .failed: "failed"
        }
    }
}
