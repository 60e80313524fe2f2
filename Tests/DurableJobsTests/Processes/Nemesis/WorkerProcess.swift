#if DurableJobs && JOB_FAULTS
import Foundation

/// A child process that runs one test of this program.
///
/// Not an exit test: each exit test that waits blocks one of the few threads of Swift's tasks.
enum WorkerProcess {
    /// Starts a child.
    ///
    /// - Parameters:
    ///   - test: the name of the test, which the variables switch on.
    ///   - command: a program and its arguments that execute the rest of the command line.
    ///   - errors: a file for the messages of the child.
    ///   - ended: called when the child has ended, with its exit status, or with the number of the
    ///     signal that ended it.
    /// - Returns: the number of the process.
    static func start(
        test: String, through command: [String] = [], environment: [String: String],
        errors: String, ended: @escaping @Sendable (_ status: Int32, _ isSignal: Bool) -> Void
    ) throws -> Int32 {
        let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            command + [program, "--testing-library", "swift-testing", "--filter", test]
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = FileHandle.nullDevice
        if !FileManager.default.fileExists(atPath: errors) {
            _ = FileManager.default.createFile(atPath: errors, contents: nil)
        }
        let messages = try FileHandle(forWritingTo: URL(fileURLWithPath: errors))
        try messages.seekToEnd()
        process.standardError = messages
        process.terminationHandler = {
            try? messages.close()
            ended($0.terminationStatus, $0.terminationReason == .uncaughtSignal)
        }
        try process.run()
        return process.processIdentifier
    }
}
#endif
