/// Writes a timeline in Chrome's trace format.
///
/// The process' threads are the tracks of one process of the trace, and each queue is another process with
/// asynchronous tracks: there any number of operations wait at the same time. Times are microseconds since
/// the recording began. Source of the format: "Trace Event Format", the Chromium project.
struct ChromeTrace {
    private static let process = 1
    private static let firstQueue = 100_000
    private static let portion = 1 << 16

    private let picture: TimelinePicture

    init(_ picture: TimelinePicture) { self.picture = picture }

    /// - Parameter sink: gets the text in portions.
    func write<Failure: Error>(
        _ sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        var json = JSONText()
        json.open("{")
        json.field("displayTimeUnit", "ns")
        json.key("otherData")
        json.open("{")
        json.field("clock", "monotonic")
        json.field("eventLimit", "\(picture.limit)")
        json.field("droppedEvents", "\(picture.dropped)")
        json.close("}")
        json.key("traceEvents")
        json.open("[")
        var number = 0
        writeNames(&json)
        let onThreads = writeSlices(&json)
        try flush(&json, sink, isLast: false)
        for index in picture.lives.indices {
            writeWaiting(picture.lives[index], &number, &json)
            if picture.lives[index].start > 0, !onThreads.contains(index) {
                writeTask(picture.lives[index], &number, &json)
            }
            try flush(&json, sink, isLast: false)
        }
        for interval in picture.queued {
            let name = interval.life.map { picture.lives[$0].name }
            writeInterval(
                "queued", of: name, in: interval.queue, from: interval.from, to: interval.to,
                &number, &json)
            try flush(&json, sink, isLast: false)
        }
        for flow in picture.flows {
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

    private func writeNames(_ json: inout JSONText) {
        writeName("process_name", programName, process: Self.process, thread: nil, &json)
        writeOrder("process_sort_index", 0, process: Self.process, thread: nil, &json)
        for (index, label) in picture.queues.enumerated() {
            let process = Self.firstQueue + index
            writeName("process_name", label, process: process, thread: nil, &json)
            writeOrder("process_sort_index", index + 1, process: process, thread: nil, &json)
        }
        let threads = picture.threads.sorted { ($0.name, $0.number) < ($1.name, $1.number) }
        for (index, thread) in threads.enumerated() {
            writeName(
                "thread_name", thread.name, process: Self.process, thread: thread.number, &json)
            writeOrder(
                "thread_sort_index", index, process: Self.process, thread: thread.number, &json)
        }
    }

    private var programName: String {
        let path = CommandLine.arguments.first ?? ""
        return path.split(separator: "/").last.map(String.init) ?? "program"
    }

    private func writeName(
        _ kind: String, _ name: String, process: Int, thread: Int?, _ json: inout JSONText
    ) {
        writeMetadata(kind, process: process, thread: thread, &json) { $0.field("name", name) }
    }

    private func writeOrder(
        _ kind: String, _ order: Int, process: Int, thread: Int?, _ json: inout JSONText
    ) {
        writeMetadata(kind, process: process, thread: thread, &json) {
            $0.field("sort_index", order)
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

    // MARK: What threads did

    private struct Slice {
        /// Nil: the thread was blocked.
        let life: Int?
        let from: UInt64
        let to: UInt64
    }

    /// Slices of a thread lie inside of each other or apart; others would break its track. Returns the
    /// operations that are on tracks of threads.
    private func writeSlices(_ json: inout JSONText) -> Set<Int> {
        var byThread: [Int: [Slice]] = [:]
        for (index, life) in picture.lives.enumerated() {
            guard life.start > 0, !life.isTask, let thread = life.startThread,
                life.endThread == thread
            else { continue }
            byThread[thread, default: []].append(
                Slice(life: index, from: life.start, to: max(life.start, life.end)))
        }
        for wait in picture.waits {
            byThread[wait.thread, default: []].append(
                Slice(life: nil, from: wait.from, to: wait.to))
        }
        var written: Set<Int> = []
        for (thread, slices) in byThread.sorted(by: { $0.key < $1.key }) {
            let sorted = slices.sorted { ($0.from, $1.to) < ($1.from, $0.to) }
            var open: [UInt64] = []
            for slice in sorted {
                while let last = open.last, last <= slice.from { open.removeLast() }
                if let last = open.last, slice.to > last { continue }
                open.append(slice.to)
                if let life = slice.life { written.insert(life) }
                write(slice, thread: thread, &json)
            }
        }
        return written
    }

    private func write(_ slice: Slice, thread: Int, _ json: inout JSONText) {
        let life = slice.life.map { picture.lives[$0] }
        begin(
            "X", life?.name ?? "blocked", process: Self.process, thread: thread, time: slice.from,
            &json)
        json.field("cat", life == nil ? "blocked" : "operation")
        json.key("dur")
        json.microseconds(slice.to - slice.from)
        if let life { writeArguments(of: life, &json) }
        json.close("}")
    }

    private func writeArguments(of life: TimelinePicture.Life, _ json: inout JSONText) {
        json.key("args")
        json.open("{")
        json.field("queue", picture.queues[life.queue])
        json.field("priority", Operation.QueuePriority(lane: life.lane).text)
        json.field("outcome", life.outcome.map { "\($0.text)" } ?? "running")
        if life.ready > 0 {
            json.key("ready for µs")
            json.microseconds(life.beginning.distance(from: life.ready))
        }
        json.close("}")
    }

    // MARK: What queues did

    private func writeWaiting(
        _ life: TimelinePicture.Life, _ number: inout Int, _ json: inout JSONText
    ) {
        if life.ready > 0 {
            writeInterval(
                "ready", of: life.name, in: life.queue, from: life.ready, to: life.beginning,
                &number, &json)
        } else if life.added > 0 {
            writeInterval(
                "queued", of: life.name, in: life.queue, from: life.added, to: life.beginning,
                &number, &json)
        }
    }

    private func writeInterval(
        _ kind: String, of name: String?, in queue: Int, from: UInt64, to: UInt64,
        _ number: inout Int, _ json: inout JSONText
    ) {
        number += 1
        let process = Self.firstQueue + queue
        for (phase, time) in [("b", from), ("e", max(from, to))] {
            begin(phase, kind, process: process, thread: process, time: time, &json)
            json.field("cat", kind)
            json.field("id", number)
            if phase == "b", let name {
                json.key("args")
                json.open("{")
                json.field("operation", name)
                json.close("}")
            }
            json.close("}")
        }
    }

    /// What runs on no one thread.
    private func writeTask(
        _ life: TimelinePicture.Life, _ number: inout Int, _ json: inout JSONText
    ) {
        number += 1
        let process = Self.firstQueue + life.queue
        for (phase, time) in [("b", life.start), ("e", max(life.start, life.end))] {
            begin(phase, life.name, process: process, thread: process, time: time, &json)
            json.field("cat", "running")
            json.field("id", number)
            if phase == "b" { writeArguments(of: life, &json) }
            json.close("}")
        }
    }

    // MARK: Arrows

    private func writeFlow(
        _ flow: (from: Int, to: Int), number: Int, _ json: inout JSONText
    ) {
        let (from, to) = (picture.lives[flow.from], picture.lives[flow.to])
        guard let fromThread = from.endThread, let toThread = to.startThread, to.start > 0 else {
            return
        }
        // An arrow leads between slices of threads: one that had none gets a point there.
        if from.isTask { writePoint(from, "ends", thread: fromThread, time: from.end, &json) }
        if to.isTask { writePoint(to, "begins", thread: toThread, time: to.start, &json) }
        // The end of a slice does not belong to it.
        let end = !from.isTask && from.end > from.start ? from.end - 1 : from.end
        begin("s", "dependency", process: Self.process, thread: fromThread, time: end, &json)
        json.field("cat", "dependency")
        json.field("id", number)
        json.close("}")
        begin("f", "dependency", process: Self.process, thread: toThread, time: to.start, &json)
        json.field("cat", "dependency")
        json.field("id", number)
        json.field("bp", "e")
        json.close("}")
    }

    private func writePoint(
        _ life: TimelinePicture.Life, _ what: String, thread: Int, time: UInt64,
        _ json: inout JSONText
    ) {
        begin(
            "X", "\(life.name) \(what)", process: Self.process, thread: thread, time: time, &json)
        json.field("cat", "operation")
        json.key("dur")
        json.microseconds(0)
        json.close("}")
    }

    private func writeDropped(_ json: inout JSONText) {
        guard picture.dropped > 0 else { return }
        begin(
            "i", "\(picture.dropped) events were dropped: the timeline's limit is \(picture.limit)",
            process: Self.process, thread: nil, time: picture.end, &json)
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
            json.microseconds(time.distance(from: picture.start))
        }
    }
}

extension UInt64 {
    /// 0 for what lies before it.
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

/// JSON that is written from its beginning to its end. Whoever writes sees to it that what is opened is
/// closed, and that objects get keys.
struct JSONText {
    var bytes: [UInt8] = []
    private var needsComma = false
    private var lineIsDue = false

    /// The next value begins a line.
    mutating func newline() { lineIsDue = true }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        if lineIsDue { bytes.append(UInt8(ascii: "\n")) }
        lineIsDue = false
        needsComma = false
    }

    mutating func open(_ bracket: Unicode.Scalar) {
        separate()
        bytes.append(UInt8(ascii: bracket))
    }

    mutating func close(_ bracket: Unicode.Scalar) {
        bytes.append(UInt8(ascii: bracket))
        needsComma = true
    }

    mutating func key(_ key: String) {
        string(key)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    mutating func field(_ key: String, _ value: String) {
        self.key(key)
        string(value)
    }

    mutating func field(_ key: String, _ value: Int) {
        self.key(key)
        separate()
        bytes += String(value).utf8
        needsComma = true
    }

    /// Nanoseconds as microseconds, exactly.
    mutating func microseconds(_ nanoseconds: UInt64) {
        separate()
        bytes += String(nanoseconds / 1_000).utf8
        let rest = nanoseconds % 1_000
        if rest > 0 {
            bytes.append(UInt8(ascii: "."))
            for digit in [rest / 100, rest / 10 % 10, rest % 10] {
                bytes.append(UInt8(ascii: "0") + UInt8(digit))
            }
        }
        needsComma = true
    }

    mutating func string(_ text: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes += [UInt8(ascii: "\\"), byte]
            case 0..<0x20:
                bytes += "\\u00".utf8
                bytes += [Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]]
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    private static let digits = Array("0123456789abcdef".utf8)
}
