import Operations
import OperationsRuntime

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

/// Notices that a round does not go on, prints why, and ends the process.
///
/// A thread of its own: nothing that operations or tasks do can hold it up. It does not trust the
/// clock, because the machine may have no time for the process. A round hangs
///
/// - if nothing has happened for two seconds in which no thread of the process could have run;
/// - or if nothing has happened while the threads used six seconds of processor time;
/// - or, where the states of threads are unknown, if nothing has happened for a minute.
final class Watchdog: Sendable {
    private struct State {
        var queues: [OperationQueue] = []
        var stage = ""
    }

    static let shared = Watchdog()

    private let state = Locked(State())

    private init() {}

    /// - Parameter patience: multiplies the times.
    static func start(patience: Double) {
        let isStarted = startThread(named: "watchdog") { shared.watch(patience) }
        precondition(isStarted, "cannot start a thread")
    }

    func watch(_ queues: [OperationQueue]) { state.withLock { $0.queues = queues } }

    /// Says what the round waits for from now on.
    func enter(_ stage: String) {
        Heartbeat.beat()
        state.withLock { $0.stage = stage }
    }

    /// Says more exactly what the round waits for. Not a sign that the round goes on.
    func specify(_ stage: String) { state.replace(\.stage, with: stage) }

    /// Gives up the queues.
    func forget() {
        let queues = state.withLock { state in
            defer { state.queues = [] }
            return state.queues
        }
        withExtendedLifetime(queues) {}
    }

    private func watch(_ patience: Double) {
        var last = (beat: Heartbeat.now, used: Processor.used)
        var (ticks, idle) = (0, 0)
        while true {
            Processor.nap(microseconds: 100_000)
            let now = Heartbeat.now
            if now != last.beat {
                last = (now, Processor.used)
                (ticks, idle) = (0, 0)
                continue
            }
            ticks += 1
            let used = Processor.used - last.used
            #if os(Linux)
            idle = Processor.busyThreads() == 0 ? idle + 1 : 0
            if idle >= Int(20 * patience) { report("no thread can run", used) }
            #else
            if ticks >= Int(600 * patience) { report("for a minute", used) }
            #endif
            if used > UInt64(6e9 * patience) { report("workers are busy", used) }
        }
    }

    private func report(_ what: String, _ used: UInt64) -> Never {
        let (queues, stage) = state.withLock { ($0.queues, $0.stage) }
        Output.write(
            """
            HANG: nothing happens (\(what), \(used / 1_000_000) ms of processor time), \
            and the round waits for \(stage)

            """)
        // An explanation needs locks, which may be what the round waits for.
        let isExplained = Latch()
        _ = startThread {
            for (index, queue) in queues.enumerated() {
                Output.write("queue \(index): \(queue.explain())\n")
            }
            isExplained.open()
        }
        isExplained.wait(nanoseconds: 5_000_000_000)
        _exit(Worker.hangs)
    }
}
