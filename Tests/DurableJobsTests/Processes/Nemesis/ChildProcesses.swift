#if DurableJobs && JOB_FAULTS
import OperationsRuntime
import Operations
import Testing

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

/// The workers and the client of a round, each in a slot. Another child starts whenever the one in
/// the slot has ended.
final class ChildProcesses: Sendable {
    static let workers = 0..<3
    /// The slot of the client.
    static let client = 3
    static let slots = 0..<4

    private struct State {
        var isOver = false
        /// The living child of each slot; nil for a child that ended before its start was noted.
        var processes: [Int: Int32?] = [:]
        var ended = 0
        var hasClientEnded = false
        /// The slots whose process ended by a signal that nobody has sent.
        var crashes: [(slot: Int, signal: Int32)] = []
    }

    private let settings: NemesisSettings
    private let faults: String
    private let hosts: NemesisHosts?
    private let log: RunLog
    private let state = Locked(State())

    /// - Parameters:
    ///   - faults: the faults of all workers; see `Faults`.
    ///   - hosts: the hosts on which the children run; nil for this one.
    init(_ settings: NemesisSettings, faults: String, on hosts: NemesisHosts?) {
        (self.settings, self.faults, self.hosts) = (settings, faults, hosts)
        log = RunLog(settings.runs)
    }

    /// Whether the client has done all of its work.
    var hasClientEnded: Bool { state.withLock { $0.hasClientEnded } }

    /// The processes that have crashed, with their last message.
    var crashes: [String] {
        state.withLock { $0.crashes }.map { slot, signal in
            let text = try? String(contentsOfFile: settings.errors(slot), encoding: .utf8)
            let lines = text?.split(separator: "\n") ?? []
            // Other lines are those of the testing library.
            let message = lines.last { !"◇↳✘✔".contains($0.first ?? " ") }
            return "the process of slot \(slot) ended by signal \(signal): \(message ?? "")"
        }
    }

    /// Keeps a child alive in a slot, until the round is over or the client has done its work.
    func keepAlive(_ slot: Int) async {
        while !state.withLock({ $0.isOver || (slot == Self.client && $0.hasClientEnded) }) {
            let status = await run(slot)
            if slot == Self.client, status == EXIT_SUCCESS {
                state.withLock { $0.hasClientEnded = true }
            }
            if Self.workers.contains(slot), !state.withLock({ $0.isOver }) {
                try? await Task.sleep(for: settings.pauseOfRestarts)
            }
        }
        state.withLock { $0.ended += 1 }
    }

    /// Runs a child until it ends, and returns its exit status.
    private func run(_ slot: Int) async -> Int32 {
        await withCheckedContinuation { continuation in
            do {
                state.withLock { _ = $0.processes.removeValue(forKey: slot) }
                let process = try WorkerProcess.start(
                    test: slot == Self.client ? "NemesisClient" : "NemesisWorker",
                    through: hosts?.command(slot) ?? [], environment: environment(slot),
                    errors: settings.errors(slot)
                ) { [self] status, isSignal in
                    state.withLock { state in
                        state.processes[slot] = .some(nil)
                        // SIGTERM comes before the process handles it.
                        if isSignal, status != SIGKILL, status != SIGTERM {
                            state.crashes.append((slot, status))
                        }
                    }
                    continuation.resume(returning: isSignal ? EXIT_FAILURE : status)
                }
                state.withLock { state in
                    if !state.processes.keys.contains(slot) { state.processes[slot] = process }
                }
            } catch {
                Issue.record("a child does not start: \(error)")
                state.withLock { $0.isOver = true }
                continuation.resume(returning: EXIT_FAILURE)
            }
        }
    }

    private func environment(_ slot: Int) -> [String: String] {
        var settings = settings
        settings.role = slot == Self.client ? .client : .worker
        var variables = [
            NemesisSettings.variable: settings.text,
            "DURABLE_JOBS_FAULTS": "\(faults) stop-at:\(stopFile(slot))",
            // The program that prints backtraces waits for ever if its process is killed.
            "SWIFT_BACKTRACE": ProcessInfo.processInfo.environment["SWIFT_BACKTRACE"]
                ?? "enable=no",
        ]
        if slot == ShiftedClock.slot {
            variables.merge(ShiftedClock(folder: settings.folder).environment) { $1 }
        }
        return variables
    }

    /// A worker that finds this file between a commit and the publication stops itself.
    func stopFile(_ slot: Int) -> String { "\(settings.folder)/stop-\(slot)" }

    // MARK: Signals

    /// The living process of a slot.
    func process(_ slot: Int) -> Int32? { state.withLock { $0.processes[slot] } ?? nil }

    /// Kills the process of a slot; returns false if there is none at the moment.
    ///
    /// - Parameter wasStopping: whether the store knows that the process was asked to stop.
    @discardableResult
    func end(_ slot: Int, wasStopping: Bool = false) -> Bool {
        guard let process = process(slot) else { return false }
        // Before the signal: whatever follows from it comes later.
        log.write(
            .killed(process: process, time: Machine.timeSinceBoot, wasStopping: wasStopping))
        return kill(process, SIGKILL) == 0
    }

    /// Kills a process; returns false if it has ended before.
    func end(process: Int32) -> Bool {
        guard let slot = Self.workers.first(where: { self.process($0) == process }) else {
            return false
        }
        return end(slot)
    }

    /// Stops the process of a slot for a time; returns false if there is none at the moment.
    func stop(_ slot: Int, for time: Duration) async throws -> Bool {
        guard let process = process(slot) else { return false }
        kill(process, SIGSTOP)
        try await Task.sleep(for: time)
        goOn(process)
        return true
    }

    func askToEnd(_ process: Int32) { kill(process, SIGTERM) }

    /// Stops a process, until ``goOn(_:)``.
    func halt(_ process: Int32) { kill(process, SIGSTOP) }

    /// Continues a process that was stopped.
    func goOn(_ process: Int32) { kill(process, SIGCONT) }

    /// Kills all children, and returns when they have ended.
    func end() async throws {
        state.withLock { $0.isOver = true }
        // A child may start after the others were killed, so this loop kills until all slots have
        // ended. The pause only spaces the signals.
        while state.withLock({ $0.ended }) < Self.slots.count {
            for slot in Self.slots { end(slot) }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
#endif
