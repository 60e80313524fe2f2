import OperationsRuntime

/// The tracks on which a viewer shows what a timeline recorded.
///
/// Every operation that ran has a place on one track, so that arrows can lead from it and to it:
///
/// - on the track of its thread, in the process of the program; or
/// - if the operation continued after its thread had left it, in the process of its queue, on the
///   first free lane.
///
/// Slices of a track are nested or disjoint. A slice that would cross another slice of its thread,
/// because a thread left the operation without our knowledge, goes to a lane, too.
struct TimelineTracks {
    struct Slice {
        /// The index in the trace's `spans`; nil for a time in which the thread was blocked.
        let span: Int?
        let from: UInt64
        let to: UInt64
    }

    struct Track {
        let number: Int
        let name: String
        /// The slices in time order, outer slices before those nested in them.
        let slices: [Slice]
    }

    struct Process {
        let number: Int
        let name: String
        fileprivate(set) var tracks: [Track] = []
    }

    /// The numbers of a process and of one of its tracks.
    struct Place {
        let process: Int
        let track: Int
    }

    let program: Process
    /// The processes of the trace's queues, in the order of `queues`.
    let queues: [Process]
    /// The places of the operations that ran, by index in the trace's `spans`.
    let places: [Int: Place]

    var processes: [Process] { [program] + queues }

    init(_ trace: TimelineTrace) {
        var builder = Builder()
        var (onThreads, inQueues) = Self.division(of: trace)
        var program = builder.process(Self.programName)
        let threads = trace.threads.map { (order: Self.order(of: $0.name), thread: $0) }
        for (_, thread) in threads.sorted(by: { $0.order < $1.order }) {
            let (nested, crossing) = Self.nest(onThreads.removeValue(forKey: thread.number) ?? [])
            builder.add(nested, named: thread.name, to: &program)
            for slice in crossing {
                guard let span = slice.span else { continue }
                inQueues[trace.spans[span].queue, default: []].append(slice)
            }
        }
        self.program = program
        queues = trace.queues.enumerated().map { index, label in
            var process = builder.process(label)
            for (lane, slices) in Self.lanes(inQueues[index] ?? []).enumerated() {
                builder.add(slices, named: "async \(lane + 1)", to: &process)
            }
            return process
        }
        places = builder.places
    }

    /// Numbers processes and tracks.
    ///
    /// Processes and their tracks share one numbering, in display order. So viewers that sort by
    /// number show them in that order, and no track has the number of its process, which would mark
    /// the track as a main thread.
    private struct Builder {
        private var lastNumber = 0
        private(set) var places: [Int: Place] = [:]

        mutating func process(_ name: String) -> Process {
            lastNumber += 1
            return Process(number: lastNumber, name: name)
        }

        mutating func add(_ slices: [Slice], named name: String, to process: inout Process) {
            guard !slices.isEmpty else { return }
            lastNumber += 1
            process.tracks.append(Track(number: lastNumber, name: name, slices: slices))
            for slice in slices {
                guard let span = slice.span else { continue }
                places[span] = Place(process: process.number, track: lastNumber)
            }
        }
    }

    private static var programName: String {
        let path = CommandLine.arguments.first ?? ""
        return path.split(separator: "/").last.map(String.init) ?? "program"
    }

    /// The sort key of a thread name, which puts 'worker 10' after 'worker 9'.
    private static func order(of name: String) -> (String, Int) {
        let digits = name.reversed().prefix { $0.isASCII && $0.isNumber }.count
        return (String(name.dropLast(digits)), Int(name.suffix(digits)) ?? 0)
    }

    /// Distributes the slices: by thread number, or by queue number.
    private static func division(
        of trace: TimelineTrace
    ) -> (onThreads: [Int: [Slice]], inQueues: [Int: [Slice]]) {
        var (onThreads, inQueues): ([Int: [Slice]], [Int: [Slice]]) = ([:], [:])
        for (index, span) in trace.spans.enumerated() where span.start > 0 {
            let slice = Slice(span: index, from: span.start, to: max(span.start, span.end))
            if !span.isTask, let thread = span.startThread, span.endThread == thread {
                onThreads[thread, default: []].append(slice)
            } else {
                inQueues[span.queue, default: []].append(slice)
            }
        }
        for wait in trace.waits {
            onThreads[wait.thread, default: []].append(
                Slice(span: nil, from: wait.from, to: wait.to))
        }
        return (onThreads, inQueues)
    }

    private static func nest(_ slices: [Slice]) -> (nested: [Slice], crossing: [Slice]) {
        var (nested, crossing): ([Slice], [Slice]) = ([], [])
        var open: [UInt64] = []
        for slice in slices.sorted(by: { ($0.from, $1.to) < ($1.from, $0.to) }) {
            while let last = open.last, last <= slice.from { open.removeLast() }
            if let last = open.last, slice.to > last {
                crossing.append(slice)
            } else {
                open.append(slice.to)
                nested.append(slice)
            }
        }
        return (nested, crossing)
    }

    /// Distributes slices to as few lanes as possible, filling the first lanes most.
    ///
    /// - Complexity: O(n log n).
    private static func lanes(_ slices: [Slice]) -> [[Slice]] {
        var lanes: [[Slice]] = []
        // `busy` orders the lanes by the time at which each becomes free. `free` holds the lanes
        // that no slice occupies.
        var (busy, free) = (Heap<UInt64, Int>(), Heap<Int, Int>())
        for slice in slices.sorted(by: { ($0.from, $0.to) < ($1.from, $1.to) }) {
            while let lane = busy.removeFirst(upTo: slice.from) { free.insert(lane, at: lane) }
            if free.first == nil { lanes.append([]) }
            let lane = free.removeFirst(upTo: .max) ?? lanes.count - 1
            lanes[lane].append(slice)
            busy.insert(lane, at: slice.to)
        }
        return lanes
    }
}
