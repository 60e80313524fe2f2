#if DurableJobs && JOB_FAULTS
import Operations
import OperationsTestSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobs

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// What can happen to a process.
///
/// The sleeps are part of the faults: a stopped worker outlives its lease.
enum ProcessFault: String {
    /// A worker stands still for longer than its lease.
    case stop
    /// The same, between a commit and the publication of its files.
    case stopBeforePublishing
    /// A worker is killed.
    case kill
    case killClient
    /// A worker is asked to end, and killed before its jobs have ended.
    case evict
    /// A worker is asked to end, and does so.
    case retire
    /// The wall clock of a worker jumps by an hour.
    case shiftClock
    /// The store refuses all processes for longer than their lease.
    case outage
    /// Workers of a program begin that cannot decode the jobs, and then those of the former again.
    case deploy
    /// The workers of one job stand still, both at the same time.
    case pursue
    /// The workers of one job stand still, and are killed, one after the other.
    case pursueToDeath

    /// Whether a process, or the store, stands still. The process may hold a lock of the store.
    var isStandstill: Bool {
        switch self {
        case .stop, .stopBeforePublishing, .outage, .pursue, .pursueToDeath: true
        case .kill, .killClient, .evict, .retire, .shiftClock, .deploy: false
        }
    }

    /// - Returns: whether the fault has struck: a slot may have no process at the moment.
    func strike(
        _ children: ChildProcesses, _ settings: NemesisSettings, _ queue: JobQueue,
        _ random: inout FaultRandom
    ) async throws -> Bool {
        let slot = random.number(ChildProcesses.workers)
        let pause = random.time(settings.lease, 1.0...1.5)
        switch self {
        case .stop: return try await children.stop(slot, for: pause)
        case .stopBeforePublishing:
            return try await stopBeforePublishing(children, slot, pause)
        case .kill: return children.end(slot)
        case .evict: return try await evict(children, slot, queue)
        case .retire: return try await retire(children, slot)
        case .killClient: return children.end(ChildProcesses.client)
        case .shiftClock:
            let clock = ShiftedClock(folder: settings.folder)
            return try clock.shift(by: 3_600 * random.number(-1..<2))
        case .outage:
            try await StoreOutage.strike(settings.store, for: pause)
            return true
        case .deploy:
            return try await deploy(children, settings, slots: 1 + random.number(0..<2), pause)
        case .pursue:
            let pursuit = Pursuit(children: children, settings: settings, queue: queue)
            return try await pursuit.stopBoth(for: pause)
        case .pursueToDeath:
            let pursuit = Pursuit(children: children, settings: settings, queue: queue)
            return try await pursuit.stopAndKill()
        }
    }

    /// Kills a worker when the store knows that it stops, as a cluster's scheduler kills processes
    /// that take too long.
    private func evict(
        _ children: ChildProcesses, _ slot: Int, _ queue: JobQueue
    ) async throws -> Bool {
        guard let process = children.process(slot) else { return false }
        children.askToEnd(process)
        let end = ContinuousClock.now + .seconds(2)
        while ContinuousClock.now < end, children.process(slot) == process {
            let isKnown = try? await queue.store.database.transaction(.reading) { session in
                try !session.query(
                    """
                    SELECT 1 FROM durable_job_worker
                    WHERE process = ? AND is_stopping = 1 AND {alive}
                    """, [.integer(Int64(process))]
                ).isEmpty
            }
            if isKnown == true {
                return children.process(slot) == process
                    && children.end(slot, wasStopping: true)
            }
            // The process writes to the store, so there is no event here.
            try await Task.sleep(for: .milliseconds(2))
        }
        return false
    }

    /// Asks a worker to end, and waits until it has. One that does not is killed: the log shows it.
    private func retire(_ children: ChildProcesses, _ slot: Int) async throws -> Bool {
        guard let process = children.process(slot) else { return false }
        children.askToEnd(process)
        let end = ContinuousClock.now + .seconds(15)
        while children.process(slot) == process {
            if ContinuousClock.now > end { return children.end(slot, wasStopping: true) }
            // The driver of the children notes the end, and nobody waits for it but this.
            try await Task.sleep(for: .milliseconds(10))
        }
        return true
    }

    /// Retires some workers, so that those which start after them are of another program, and those
    /// some time later.
    private func deploy(
        _ children: ChildProcesses, _ settings: NemesisSettings, slots: Int, _ pause: Duration
    ) async throws -> Bool {
        let slots = ChildProcesses.workers.prefix(slots)
        try Data().write(to: URL(filePath: settings.deployed))
        for slot in slots { _ = try await retire(children, slot) }
        try await Task.sleep(for: pause)
        unlink(settings.deployed)
        // Also a worker that has started meanwhile in place of one that ended by itself.
        for slot in ChildProcesses.workers {
            while children.process(slot) == nil { try await Task.sleep(for: .milliseconds(10)) }
            _ = try await retire(children, slot)
        }
        return true
    }

    /// Asks a worker to stop itself, and continues it after a pause.
    private func stopBeforePublishing(
        _ children: ChildProcesses, _ slot: Int, _ pause: Duration
    ) async throws -> Bool {
        let file = children.stopFile(slot)
        try Data().write(to: URL(filePath: file))
        let end = ContinuousClock.now + .seconds(2)
        while true {
            if let process = children.process(slot), Self.isStopped(process) {
                try await Task.sleep(for: pause)
                children.goOn(process)
                return true
            }
            // The worker has committed nothing in this time, or it has died.
            if ContinuousClock.now > end, unlink(file) == 0 { return false }
            if ContinuousClock.now > end + .seconds(5) { return false }
            // No event tells that another process was stopped, unless its parent waits for it.
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Whether a process is stopped by a signal.
    static func isStopped(_ process: Int32) -> Bool {
        let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        return text?.split(separator: ")").last?.hasPrefix(" T") ?? false
    }
}

/// The choices of one sequence of faults, which a seed repeats.
struct FaultRandom {
    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }

    /// A time between two multiples of another one.
    mutating func time(_ unit: Duration, _ factors: ClosedRange<Double>) -> Duration {
        unit * Double.random(in: factors, using: &generator)
    }

    mutating func element<Element>(_ elements: [Element]) -> Element {
        elements[number(elements.indices)]
    }
}
#endif
