#if DurableJobs && JOB_FAULTS
import Foundation
import OperationsRuntime
import Operations
import OperationsTestSupport

@testable import DurableJobs

/// Hosts of a round: network namespaces, with a PostgreSQL primary and its synchronous standby. The
/// script `nemesis-hosts` makes them, carries out faults, and removes them when this process ends.
final class NemesisHosts: Sendable {
    /// The hosts do not start, or a fault could not be carried out.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The names of the hosts without a database; the indices are the slots of the children.
    static let names = ["worker0", "worker1", "worker2", "client"]

    /// The URL for the children: both databases, of which one accepts writes.
    static let url = "postgres://tests@10.77.0.5,10.77.0.6/jobs"

    private struct State {
        var (primary, standby) = ("database0", "database1")
        var crashes: [Span] = []
        var failures: [String] = []
    }

    private let process: Process
    private let input: Pipe
    private let output: Pipe
    private let folder: String
    private let state = Locked(State())

    private init(_ process: Process, _ input: Pipe, _ output: Pipe, folder: String) {
        (self.process, self.input, self.output) = (process, input, output)
        self.folder = folder
    }

    /// Makes the hosts; returns nil, and prints the reason, where a program may not do that.
    static func start() async throws -> NemesisHosts? {
        // Tests/DurableJobsTests/Processes/Nemesis/…
        let root = (0..<5).reduce(URL(fileURLWithPath: #filePath)) { url, _ in
            url.deletingLastPathComponent()
        }
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = root.appending(path: "Scripts/nemesis-hosts")
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let line = await line(output)
        if line.hasPrefix("impossible") {
            print("The rounds with hosts are left out: \(line).")
            return nil
        }
        guard line.hasPrefix("/var/tmp/") else {
            throw Failure(description: "the hosts do not start; the messages are above")
        }
        return NemesisHosts(process, input, output, folder: line)
    }

    /// The URL for the driver: sockets in the file system, which no fault of the network touches.
    var socketURL: String {
        "postgres://tests@/jobs?host=\(folder)/sockets-database0,\(folder)/sockets-database1"
    }

    /// A program that runs the rest of its arguments on the host of a slot.
    func command(_ slot: Int) -> [String] {
        ["ip", "netns", "exec", "jobs-\(process.processIdentifier)-\(Self.names[slot])"]
    }

    var primary: String { state.withLock { $0.primary } }
    var standby: String { state.withLock { $0.standby } }
    /// When the database may have lost transactions that it had not synced.
    var crashes: [Span] { state.withLock { $0.crashes } }
    /// The faults that could not be carried out.
    var failures: [String] { state.withLock { $0.failures } }

    // MARK: Commands

    /// Carries out a command of the script. Only one task may do so at a time.
    func run(_ command: String) async {
        input.fileHandleForWriting.write(Data("\(command)\n".utf8))
        guard await Self.line(output) != "ok" else { return }
        state.withLock { $0.failures.append("the command '\(command)' failed; see \(folder)/log") }
    }

    /// Carries out commands that may lose transactions.
    func crashing(_ commands: () async throws -> Void) async rethrows {
        let start = Machine.timeSinceBoot
        try await commands()
        let span = Span(start: start, end: Machine.timeSinceBoot)
        state.withLock { $0.crashes.append(span) }
    }

    /// The standby takes the place of the primary, which is killed.
    func promote() async {
        let (old, new) = (primary, standby)
        await run("crash_and_promote \(old) \(new)")
        state.withLock { ($0.primary, $0.standby) = (new, old) }
    }

    /// Removes the hosts; keeps the messages of the databases if asked to.
    func end(keepingLogs logs: String? = nil) async {
        if let logs {
            try? FileManager.default.createDirectory(
                atPath: logs, withIntermediateDirectories: true)
            for name in ["log", "log-database0", "log-database1"] {
                try? FileManager.default.removeItem(atPath: "\(logs)/\(name)")
                try? FileManager.default.copyItem(
                    atPath: "\(folder)/\(name)", toPath: "\(logs)/\(name)")
            }
        }
        try? input.fileHandleForWriting.close()
        // The output ends with the process.
        _ = await Self.line(output)
    }

    /// Reads a line; an empty one at the end.
    private static func line(_ pipe: Pipe) async -> String {
        await onThread {
            var line = Data()
            while let byte = try? pipe.fileHandleForReading.read(upToCount: 1), !byte.isEmpty,
                byte != Data("\n".utf8)
            {
                line += byte
            }
            return String(decoding: line, as: UTF8.self)
        }
    }
}
#endif
