import OperationsInsight
import PhotoLibrary

/// Turns the states of a page's machinery into events that contain only what is new.
///
/// A page draws a line for each worker. Threads are workers. Tasks leave their thread while they
/// wait, so several of them can overlap on one thread; each gets the first line of its queue that
/// is free.
struct EngineFeed {
    /// A run of an operation; times are in milliseconds.
    struct Slice: Encodable, Equatable {
        let id: String
        let queue: String
        let name: String
        let worker: String
        let start: Double
        let end: Double?
    }

    struct Event: Encodable {
        let now: Double
        let queues: [EventMessage.QueueEvent]
        let slices: [Slice]
        /// The slices that have not ended, including those of earlier events.
        let running: [String]
        let throughput: Double
        let hits: Int
        let misses: Int
        let bytesDownloaded: Int
        let naive: Bool
    }

    /// An end that was recorded late may be missing in one event, and is in the next one then.
    private static let overlap: Duration = .milliseconds(300)

    /// The time up to which slices were sent; nil before the first event.
    private var sent: Duration?
    /// The line of each task that may appear again.
    private var lines: [String: (queue: String, line: Int)] = [:]

    /// The time from which the next event needs slices.
    var start: Duration { sent.map { $0 - Self.overlap } ?? .zero }

    mutating func event(_ state: PhotoListSession.EngineState) -> Event {
        let since = start
        var known: Set<String> = []
        var running: [String] = []
        var slices: [Slice] = []
        for slice in state.slices {
            let id = "\(slice.worker)-\(slice.start.nanoseconds)"
            let queue = state.queues.first { slice.queue.contains($0.name) }?.name ?? slice.queue
            let worker = slice.isTask ? taskWorker(id, queue) : "worker \(slice.worker)"
            known.insert(id)
            if slice.end == nil { running.append(id) }
            guard slice.start >= since || slice.end.map({ $0 >= since }) ?? (sent == nil) else {
                continue
            }
            slices.append(
                Slice(
                    id: id, queue: queue, name: slice.name.onOneLine, worker: worker,
                    start: slice.start.milliseconds, end: slice.end?.milliseconds))
        }
        lines = lines.filter { known.contains($0.key) }
        sent = state.now
        return Event(
            now: state.now.milliseconds, queues: state.queues.map(EventMessage.QueueEvent.init),
            slices: slices, running: running, throughput: state.throughput, hits: state.hits,
            misses: state.misses,
            bytesDownloaded: state.bytesDownloaded, naive: state.isNaive)
    }

    private mutating func taskWorker(_ id: String, _ queue: String) -> String {
        if lines[id] == nil {
            let taken = Set(lines.values.filter { $0.queue == queue }.map(\.line))
            let line = (1...).first { !taken.contains($0) } ?? 1
            lines[id] = (queue, line)
        }
        return "\(queue) \(lines[id]?.line ?? 1)"
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }

    fileprivate var milliseconds: Double { Double(nanoseconds) / 1_000_000 }
}
