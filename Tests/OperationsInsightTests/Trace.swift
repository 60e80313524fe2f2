import struct Foundation.Data
import class Foundation.JSONDecoder

/// A trace as a viewer reads it. Fails where a viewer would fail.
struct Trace {
    struct Event {
        let phase: String
        let name: String
        let category: String
        let process: Double
        let thread: Double
        let id: Double
        let start: Double
        let duration: Double
        fileprivate let arguments: [String: Argument]
        fileprivate var laterEnd: Double?

        /// The end of a slice that is written as two events is that of the second event.
        var end: Double { laterEnd ?? start + duration }
        func argument(_ name: String) -> String? { arguments[name]?.text }
    }

    /// An argument of an event; only texts are compared.
    fileprivate struct Argument: Decodable {
        let text: String?

        init(from decoder: any Decoder) throws {
            text = try? decoder.singleValueContainer().decode(String.self)
        }
    }

    let events: [Event]
    let otherData: [String: String]

    init(_ text: String) throws {
        let document = try JSONDecoder().decode(Document.self, from: Data(text.utf8))
        (events, otherData) = (document.traceEvents, document.otherData)
        (slices, arrows, problems) = Self.replay(events)
    }

    private struct Document: Decodable {
        let traceEvents: [Event]
        let otherData: [String: String]
    }

    /// Slices on tracks of threads.
    let slices: [Event]
    var runs: [Event] { slices.filter { $0.category == "operation" } }
    var blocked: [Event] { slices.filter { $0.category == "blocked" } }

    /// The names of tracks that have slices with this name.
    func tracks(of name: String) -> Set<String> {
        Set(slices.filter { $0.name == name }.compactMap { trackName($0.thread) })
    }

    private func trackName(_ thread: Double) -> String? {
        events.first { $0.phase == "M" && $0.name == "thread_name" && $0.thread == thread }?
            .argument("name")
    }

    func run(_ name: String) -> Event? { runs.first { $0.name == name } }

    /// Asynchronous slices of a kind, from begin to end.
    func intervals(_ category: String) -> [(begin: Event, end: Event)] {
        events.filter { $0.phase == "b" && $0.category == category }.compactMap { begin in
            events.first {
                $0.phase == "e" && $0.category == category && $0.id == begin.id
                    && $0.name == begin.name && $0.process == begin.process
            }.map { (begin, $0) }
        }
    }

    /// Names of the operations at both ends of each arrow.
    let arrows: Set<String>

    /// The events that a viewer would reject or draw wrongly.
    let problems: [String]

    func names(_ kind: String) -> [String] {
        events.filter { $0.phase == "M" && $0.name == kind }.compactMap { $0.argument("name") }
    }

    /// Reads events as Perfetto does: by time, and those of the same time in the order of the file.
    /// An arrow belongs to the slice of its thread that began last and was not ended by an event of
    /// its own.
    private static func replay(
        _ events: [Event]
    ) -> (slices: [Event], arrows: Set<String>, problems: [String]) {
        var (slices, problems): ([Event], [String]) = ([], [])
        var arrows: Set<String> = []
        var open: [Double: [Int]] = [:]
        var arrowStarts: [Double: String] = [:]
        var asynchronous: [Double: Event] = [:]
        var tracks: Set<Double> = []
        /// Closes the slices whose duration has passed.
        func settle(_ thread: Double, _ time: Double) {
            while let last = open[thread]?.last, slices[last].laterEnd != -1,
                slices[last].end <= time + 0.000_5
            {
                open[thread]?.removeLast()
            }
        }
        let inTime = events.enumerated().sorted {
            ($0.element.start, $0.offset) < ($1.element.start, $1.offset)
        }
        for event in inTime.map(\.element) {
            let (thread, isNamed) = (event.thread, !event.name.isEmpty)
            if !isNamed { problems.append("no name: \(event)") }
            if event.process < 0 || thread < 0 { problems.append("no track: \(event)") }
            if event.phase != "M", event.start < 0 { problems.append("no time: \(event)") }
            switch event.phase {
            case "M":
                if event.name == "thread_name", !tracks.insert(thread).inserted {
                    problems.append("two tracks have number \(thread)")
                }
                if event.name == "process_name", !tracks.insert(event.process).inserted {
                    problems.append("two processes or tracks have number \(event.process)")
                }
            case "X", "B":
                settle(thread, event.start)
                if let last = open[thread]?.last, slices[last].laterEnd != -1,
                    slices[last].end + 0.000_5 < event.end
                {
                    problems.append("\(event.name) overlaps another slice of its thread")
                }
                if !tracks.contains(thread) { problems.append("\(thread) has no name") }
                open[thread, default: []].append(slices.count)
                slices.append(event)
                if event.phase == "B" { slices[slices.count - 1].laterEnd = -1 }
            case "E":
                guard let last = open[thread]?.popLast(), slices[last].name == event.name,
                    slices[last].laterEnd == -1
                else {
                    problems.append("\(event.name) ends, but is not running")
                    continue
                }
                slices[last].laterEnd = event.start
            case "s":
                guard let last = open[thread]?.last else {
                    problems.append("an arrow begins nowhere")
                    continue
                }
                arrowStarts[event.id] = slices[last].name
            case "f":
                guard let start = arrowStarts.removeValue(forKey: event.id),
                    let last = open[thread]?.last
                else {
                    problems.append("an arrow ends, but does not begin, or ends nowhere")
                    continue
                }
                arrows.insert("\(start) → \(slices[last].name)")
            case "b":
                if asynchronous.updateValue(event, forKey: event.id) != nil {
                    problems.append("\(event.id) begins twice")
                }
            case "e":
                guard let begin = asynchronous.removeValue(forKey: event.id),
                    begin.name == event.name, begin.category == event.category,
                    begin.process == event.process
                else {
                    problems.append("\(event.name) ends, but has not begun")
                    continue
                }
            default: break
            }
        }
        let unended = asynchronous.count + arrowStarts.count
        if unended > 0 { problems.append("\(unended) asynchronous slices or arrows do not end") }
        return (slices, arrows, problems)
    }
}

extension Trace.Event: Decodable {
    private enum Key: String, CodingKey {
        case ph, name, cat, pid, tid, id, id2, local, ts, dur, args
    }

    init(from decoder: any Decoder) throws {
        let event = try decoder.container(keyedBy: Key.self)
        func text(_ key: Key) throws -> String {
            try event.decodeIfPresent(String.self, forKey: key) ?? ""
        }
        func number(_ key: Key) throws -> Double? {
            try event.decodeIfPresent(Double.self, forKey: key)
        }
        phase = try text(.ph)
        name = try text(.name)
        category = try text(.cat)
        process = try number(.pid) ?? -1
        thread = try number(.tid) ?? -1
        start = try number(.ts) ?? -1
        duration = try number(.dur) ?? 0
        // Asynchronous slices have ids that are local to their process.
        if event.contains(.id2) {
            let local = try event.nestedContainer(keyedBy: Key.self, forKey: .id2)
            id = Double(try local.decode(String.self, forKey: .local)) ?? -1
        } else {
            id = try number(.id) ?? -1
        }
        arguments =
            try event.decodeIfPresent([String: Trace.Argument].self, forKey: .args) ?? [:]
    }
}
