/// A JSON value, parsed strictly by RFC 8259.
indirect enum JSON: Equatable {
    case object([String: JSON])
    case array([JSON])
    case string(String)
    case number(Double)
    case bool(Bool)
    case null

    struct Malformed: Error, CustomStringConvertible {
        let offset: Int
        let description: String
    }

    init(parsing text: String) throws {
        var parser = Parser(bytes: Array(text.utf8))
        self = try parser.document()
    }

    subscript(key: String) -> JSON? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    var string: String? { if case .string(let string) = self { string } else { nil } }
    var number: Double? { if case .number(let number) = self { number } else { nil } }
    var array: [JSON]? { if case .array(let array) = self { array } else { nil } }

    private struct Parser {
        let bytes: [UInt8]
        var offset = 0

        func malformed(_ problem: String) -> Malformed {
            Malformed(offset: offset, description: problem)
        }

        var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

        mutating func document() throws -> JSON {
            let value = try value()
            skipSpace()
            guard offset == bytes.count else { throw malformed("text after the value") }
            return value
        }

        mutating func skipSpace() {
            while let next, [0x20, 0x09, 0x0A, 0x0D].contains(next) { offset += 1 }
        }

        mutating func take(_ text: StaticString) throws {
            for byte in "\(text)".utf8 {
                guard next == byte else { throw malformed("\(text) expected") }
                offset += 1
            }
        }

        mutating func takeIf(_ byte: Unicode.Scalar) -> Bool {
            guard next == UInt8(ascii: byte) else { return false }
            offset += 1
            return true
        }

        mutating func value() throws -> JSON {
            skipSpace()
            switch next {
            case UInt8(ascii: "{"): return try object()
            case UInt8(ascii: "["): return try list()
            case UInt8(ascii: "\""): return .string(try string())
            case UInt8(ascii: "t"):
                try take("true")
                return .bool(true)
            case UInt8(ascii: "f"):
                try take("false")
                return .bool(false)
            case UInt8(ascii: "n"):
                try take("null")
                return .null
            default: return .number(try number())
            }
        }

        mutating func object() throws -> JSON {
            try take("{")
            var members: [String: JSON] = [:]
            skipSpace()
            if takeIf("}") { return .object(members) }
            repeat {
                skipSpace()
                let key = try string()
                skipSpace()
                try take(":")
                guard members.updateValue(try value(), forKey: key) == nil else {
                    throw malformed("duplicate key \(key)")
                }
                skipSpace()
            } while takeIf(",")
            try take("}")
            return .object(members)
        }

        mutating func list() throws -> JSON {
            try take("[")
            var values: [JSON] = []
            skipSpace()
            if takeIf("]") { return .array(values) }
            repeat {
                values.append(try value())
                skipSpace()
            } while takeIf(",")
            try take("]")
            return .array(values)
        }

        mutating func number() throws -> Double {
            let start = offset
            _ = takeIf("-")
            let first = offset
            try digits()
            if bytes[first] == UInt8(ascii: "0"), offset > first + 1 {
                throw malformed("leading zero")
            }
            if takeIf(".") { try digits() }
            if takeIf("e") || takeIf("E") {
                _ = takeIf("+") || takeIf("-")
                try digits()
            }
            guard let number = Double(String(decoding: bytes[start..<offset], as: UTF8.self)) else {
                throw malformed("number expected")
            }
            return number
        }

        mutating func digits() throws {
            let start = offset
            while let next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) { offset += 1 }
            if offset == start { throw malformed("digit expected") }
        }

        mutating func string() throws -> String {
            try take("\"")
            var text: [UInt8] = []
            while let byte = next {
                offset += 1
                switch byte {
                case UInt8(ascii: "\""):
                    guard let string = String(validating: text, as: UTF8.self) else {
                        throw malformed("not UTF-8")
                    }
                    return string
                case UInt8(ascii: "\\"): text += Array(try escape().utf8)
                case 0..<0x20: throw malformed("control character in a string")
                default: text.append(byte)
                }
            }
            throw malformed("unterminated string")
        }

        mutating func escape() throws -> String {
            guard let byte = next else { throw malformed("unterminated string") }
            offset += 1
            switch byte {
            case UInt8(ascii: "\""): return "\""
            case UInt8(ascii: "\\"): return "\\"
            case UInt8(ascii: "/"): return "/"
            case UInt8(ascii: "n"): return "\n"
            case UInt8(ascii: "r"): return "\r"
            case UInt8(ascii: "t"): return "\t"
            case UInt8(ascii: "b"): return "\u{8}"
            case UInt8(ascii: "f"): return "\u{c}"
            case UInt8(ascii: "u"):
                guard offset + 4 <= bytes.count,
                    let value = UInt32(
                        String(decoding: bytes[offset..<offset + 4], as: UTF8.self), radix: 16),
                    let scalar = Unicode.Scalar(value)
                else { throw malformed("not a Unicode scalar") }
                offset += 4
                return String(Character(scalar))
            default: throw malformed("unknown escape")
            }
        }
    }
}

/// A trace as a viewer reads it. Fails where a viewer would fail.
struct Trace {
    struct Event {
        let json: JSON
        var phase: String { json["ph"]?.string ?? "" }
        var name: String { json["name"]?.string ?? "" }
        var category: String { json["cat"]?.string ?? "" }
        var process: Double { json["pid"]?.number ?? -1 }
        var thread: Double { json["tid"]?.number ?? -1 }
        /// Asynchronous slices have ids that are local to their process.
        var id: Double {
            json["id"]?.number ?? json["id2"]?["local"]?.string.flatMap { Double($0) } ?? -1
        }
        var start: Double { json["ts"]?.number ?? -1 }
        var duration: Double { json["dur"]?.number ?? 0 }
        /// The end of a slice that is written as two events is that of the second event.
        var end: Double { laterEnd ?? start + duration }
        fileprivate var laterEnd: Double?
        func argument(_ name: String) -> String? { json["args"]?[name]?.string }
    }

    let json: JSON
    let events: [Event]

    init(_ text: String) throws {
        json = try JSON(parsing: text)
        events = (json["traceEvents"]?.array ?? []).map { Event(json: $0) }
        (slices, arrows, problems) = Self.replay(events)
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
            if !isNamed { problems.append("no name: \(event.json)") }
            if event.process < 0 || thread < 0 { problems.append("no track: \(event.json)") }
            if event.phase != "M", event.start < 0 { problems.append("no time: \(event.json)") }
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
